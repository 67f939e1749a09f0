#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""unmodified_programs.py VERBENA [-v] [WORD...]: programs of rdma-core, perftest and pyverbs as the distribution ships
them, two processes, on emulated NICs. A table says what each does on each model: it passes, or is refused in words that
stand there. With WORDs only rows that have all of them. Without, and without VERBENA_CHECK_FULL=1, a row is run on the
models that refuse it, and on one of the others, each row on the next. 77 where no program is installed."""

import itertools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

MODELS = ("connectx5", "e810-roce", "hip09", "rxe-6.12")
PASSES = "passes"
WITHIN = 60  # seconds, each program; a busy machine is nobody's fault

# What refuses it, in the program's own words.
NO_UC = "Couldn't create QP"
NO_SRQ = "Couldn't create SRQ"
NO_XRC = "emulated NICs have no ibv_open_xrcd\nCouldn't Open the XRC Domain"
NO_ATOMICS = "Couldn't post send"
NO_INLINE = "Unable to create QP"


def except_for(**refusals):
    """Passes on every model but these, whose names have `_` for `-` and `.`."""
    names = {model.replace("-", "_").replace(".", "_"): model for model in MODELS}
    return {**{model: PASSES for model in MODELS}, **{names[name]: why for name, why in refusals.items()}}


def perftest(name, *options):
    return [name, "-F", "-n", "200", "-x", "0", *options]


# Rows: what it is, the command, and what it does where. Pairs run it twice, the second time with the first one's host.
ALONE = [
    ("list", ["ibv_devices"], except_for()),
    ("describe", ["ibv_devinfo", "-v"], except_for()),
]
PAIRS = [
    ("rc", ["ibv_rc_pingpong", "-g", "0", "-n", "200", "-c"], except_for()),
    ("rc-events", ["ibv_rc_pingpong", "-g", "0", "-n", "100", "-e", "-c"], except_for()),
    ("rc-large", ["ibv_rc_pingpong", "-g", "0", "-n", "20", "-s", "1000000", "-c"], except_for()),
    ("uc", ["ibv_uc_pingpong", "-g", "0", "-n", "200"], except_for(e810_roce=NO_UC, hip09=NO_UC)),
    ("ud", ["ibv_ud_pingpong", "-g", "0", "-n", "200", "-s", "1024"], except_for()),
    ("srq", ["ibv_srq_pingpong", "-g", "0", "-n", "200", "-q", "4"], except_for(e810_roce=NO_SRQ)),
    ("xrc", ["ibv_xsrq_pingpong", "-g", "0", "-n", "10"], {model: NO_XRC for model in MODELS}),
    # perftest asks for 220 inline bytes, which an E810 has not.
    ("send-lat", perftest("ib_send_lat"), except_for(e810_roce=NO_INLINE)),
    ("send-lat-96", perftest("ib_send_lat", "-I", "96"), except_for()),
    ("send-bw", perftest("ib_send_bw"), except_for()),
    ("write-lat", perftest("ib_write_lat"), except_for(e810_roce=NO_INLINE)),
    ("write-lat-96", perftest("ib_write_lat", "-I", "96"), except_for()),
    ("write-bw", perftest("ib_write_bw"), except_for()),
    ("read-lat", perftest("ib_read_lat"), except_for()),
    ("read-bw", perftest("ib_read_bw"), except_for()),
    ("atomic-bw", perftest("ib_atomic_bw"), {**except_for(e810_roce=NO_ATOMICS, hip09=NO_ATOMICS), "hip09@atomics": PASSES}),
]


# Programs of rdma_cm: the server's command and the client's, where SERVER and CLIENT are addresses, and what the client
# says where it was well: some of them end with 0 in any case. They run on a fabric of their own.
CM_MODELS = ("connectx5", "e810-iwarp")
SERVER = "10.12.1.1"
CLIENT = "10.13.1.1"
NO_DATAGRAMS = "Operation not supported|Unsupported|unable to create QP"
NO_IWARP_GROUPS = "failure joining|not implemented|Function not implemented|unable to create QP|Operation not supported"


def with_iwarp(outcome=PASSES):
    return {"connectx5": PASSES, "e810-iwarp": outcome}


CONNECTED = [
    ("rping", ["rping", "-s", "-C", "10"], ["rping", "-c", "-a", SERVER, "-C", "10", "-v"], "rdma-ping-9",
     {**with_iwarp(), "e810-roce": PASSES, "hip09": PASSES, "rxe-6.12": PASSES}),
    ("ucmatose", ["ucmatose"], ["ucmatose", "-s", SERVER], "return status 0", with_iwarp()),
    ("rdma_client", ["rdma_server"], ["rdma_client", "-s", SERVER], "end 0", with_iwarp()),
    ("udaddy", ["udaddy"], ["udaddy", "-s", SERVER], "return status 0", with_iwarp(NO_DATAGRAMS)),
    ("rstream", ["rstream"], ["rstream", "-s", SERVER, "-S", "64", "-C", "1"], "",
     {"connectx5": "emulated NICs have no rsocket"}),
    ("mckey", ["stdbuf", "-oL", "mckey", "-m", "224.0.0.9", "-b", SERVER], ["mckey", "-m", "224.0.0.9", "-s", "-b", CLIENT],
     "return status 0", with_iwarp(NO_IWARP_GROUPS)),
    ("send-lat-R", perftest("ib_send_lat", "-R", "-I", "96"), [*perftest("ib_send_lat", "-R", "-I", "96"), SERVER],
     "t_avg", with_iwarp()),
    ("write-bw-R", perftest("ib_write_bw", "-R"), [*perftest("ib_write_bw", "-R"), SERVER], "BW average", with_iwarp()),
    ("read-lat-R", perftest("ib_read_lat", "-R"), [*perftest("ib_read_lat", "-R"), SERVER], "t_avg", with_iwarp()),
]
# What a server says when it is ready, where a client that comes before isn't refused.
READY = {"mckey": "joined"}
# What a client says while nobody listens there yet.
NOT_YET = "RDMA_CM_EVENT_(REJECTED|UNREACHABLE|ADDR_ERROR)|refused|CM event"


# Tests that rdma-core's own suite of pyverbs fails on a model, and why. The others pass or skip themselves.
PYVERBS_SUITE = "/usr/share/doc/rdma-core/tests"
PYVERBS = ["test_addr", "test_atomic", "test_cq", "test_cq_events", "test_cqex", "test_device", "test_mr",
           "test_parent_domain", "test_pd", "test_qpex", "test_relaxed_ordering"]
PYVERBS_FAILS = {
    "connectx5": set(),
    # More entries than are declared are taken; windows of type 2 are refused with EINVAL, where the suite looks for
    # EOPNOTSUPP.
    "e810-roce": {"test_create_cq_bad_flow", "test_create_cq_ex_bad_flow", "test_mw_type2",
                  "test_mw_type2_invalidate_dealloc", "test_mw_type2_invalidate_local",
                  "test_mw_type2_invalidate_remote"},
    # The library builds atomics for cards that have none.
    "hip09": {"test_qp_ex_rc_atomic_cmp_swp", "test_qp_ex_rc_atomic_fetch_add"},
    "rxe-6.12": set(),
}
PYVERBS_CM_FAILS = {"connectx5": set(), "rxe-6.12": set()}


class Runs:
    def __init__(self, verbena, talkative):
        self.verbena = verbena
        self.talkative = talkative
        self.fabric = f"test-{os.getpid()}"
        self.ports = itertools.count(20000 + os.getpid() % 20000)
        self.failed = []
        self.done = 0
        self.skipped = set()

    def start(self, model, command, *options):
        fabric = () if "--fabric" in options or "--net" in options else ("--fabric", self.fabric)
        head = [self.verbena, "run", "--nic", model, *fabric, *options, "--"]
        out = tempfile.TemporaryFile()
        process = subprocess.Popen(head + command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
        process.out = out
        return process

    def end(self, process, within=WITHIN):
        try:
            code = process.wait(within)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = "no end"
        process.out.seek(0)
        return code, process.out.read().decode(errors="replace")

    def verdict(self, name, model, expected, ends):
        self.done += 1
        codes = [code for code, _ in ends]
        text = "".join(text for _, text in ends)
        if expected == PASSES:
            good = all(code == 0 for code in codes)
        else:
            # Refused, in these words, and nobody died of a signal.
            good = any(code not in (0, "no end") for code in codes) and re.search(expected, text) is not None
            good = good and all(code == "no end" or code >= 0 for code in codes)
        if not good:
            self.failed.append(f"{name} on {model}")
        if not good or self.talkative:
            print(f"{'ok' if good else 'FAILED'}: {name} on {model}, expected {expected}, ended with {codes}")
        if not good or self.talkative > 1:
            print("  " + text.replace("\n", "\n  "))

    def there(self, command):
        if shutil.which(command[0]) is not None:
            return True
        if command[0] not in self.skipped:
            print(f"skipped: {command[0]} is not installed")
        self.skipped.add(command[0])
        return False

    def wait_for(self, port, process):
        """Until somebody listens; without a connection, which would be the client's."""
        wanted = re.compile(rf":{port:04X} \S+ 0A ")
        until = time.monotonic() + WITHIN
        while time.monotonic() < until and process.poll() is None:
            for family in ("tcp", "tcp6"):
                with open(f"/proc/net/{family}", encoding="ascii") as table:
                    if wanted.search(table.read()):
                        return
            time.sleep(0.01)

    def wait_until_joined(self, fabric, process):
        until = time.monotonic() + WITHIN
        there = f"/dev/shm/verbena-fabric-{fabric}"
        while time.monotonic() < until and process.poll() is None and not os.path.exists(there):
            time.sleep(0.01)

    def wait_until_says(self, process, word):
        until = time.monotonic() + WITHIN
        while time.monotonic() < until and process.poll() is None:
            if word.encode() in os.pread(process.out.fileno(), 1 << 16, 0):
                return
            time.sleep(0.01)

    def pair(self, model, command, *options, other=None):
        port = next(self.ports)
        command = [*command, "-p", str(port)]
        server = self.start(model, command, *options)
        self.wait_for(port, server)
        client = self.start(other or model, [*command, "127.0.0.1"], *options)
        ends = [self.end(client)]
        # A server whose client was refused waits for ever.
        ends.append(self.end(server, WITHIN if ends[0][0] == 0 else 1))
        return ends


def connected(runs, model, row, *options, server_address=SERVER, own=()):
    """Both ends, each a `verbena run` of its own. The client asks until somebody listens."""
    name, server_command, client_command, says, expected = row
    own = own or (("--fabric", f"{runs.fabric}-{next(runs.ports)}"),) * 2
    put = lambda command: [server_address if word == SERVER else word for word in command]
    server = runs.start(model, put(server_command), *options, *own[0])
    until = time.monotonic() + WITHIN
    runs.wait_until_joined(own[0][1], server)
    if name in READY and expected[model] == PASSES:
        runs.wait_until_says(server, READY[name])
    while True:
        client = runs.end(runs.start(model, put(client_command), *options, *own[1]))
        again = expected[model] == PASSES and re.search(NOT_YET, client[1]) and server.poll() is None
        if not again or time.monotonic() > until:
            break
        time.sleep(0.2)
    code, text = client
    if expected[model] == PASSES and code == 0 and re.search(says, text) is None:
        client = ("silent", text)
    ends = [client, runs.end(server, WITHIN if client[0] == 0 else 1)]
    runs.verdict(name, model, expected[model], ends)


def pyverbs_connections(runs, model):
    """The suite's tests of rdma_cm, whose two processes have one address. It looks that up in /sys itself."""
    address = "10.0.0.1"
    told = ("import runpy, sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/tests']; import tests.base; "
            "tests.base.RDMATestCase._get_ip_mac = lambda self, dev, port, idx: "
            f"self.args.append([dev, port, idx, '{address}', '02:00:00:00:01:01']); "
            "path = sys.argv.pop(1) + '/tests/run_tests.py'; sys.argv[0] = path; "
            "runpy.run_path(path, run_name='__main__')")
    run_suite(runs, f"pyverbs-cm on {model}", model, ["-c", told], ["test_rdmacm"], PYVERBS_CM_FAILS[model], 9,
              "--address", address)


def pyverbs(runs, model):
    run_suite(runs, f"pyverbs on {model}", model, [], PYVERBS, PYVERBS_FAILS[model], 100)


def run_suite(runs, title, model, head, tests, fails, least, *options):
    """The suite is shipped as documentation, in part compressed."""
    python = "/usr/bin/python3"
    known = subprocess.run([python, "-c", "import pyverbs"], stderr=subprocess.DEVNULL, check=False)
    if known.returncode != 0 or not os.path.isdir(PYVERBS_SUITE):
        print("skipped: pyverbs and its suite (python3-pyverbs) are not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        suite = shutil.copytree(PYVERBS_SUITE, os.path.join(folder, "tests"))
        subprocess.run(["gunzip", "-r", suite], check=True)
        names = [f"tests.{name}" for name in tests]
        head = [*head, folder] if head else [os.path.join(suite, "run_tests.py")]
        process = runs.start(model, [python, *head, "--dev", model, *names], *options)
        code, text = runs.end(process, 2 * WITHIN)
    failed = set(re.findall(r"^(?:ERROR|FAIL): (\w+)", text, re.MULTILINE))
    ran = re.search(r"Ran (\d+) tests", text)
    runs.done += 1
    # The others skip what a model hasn't; of rdma_cm nothing is left out.
    good = ran is not None and int(ran[1]) >= least and failed == fails and (head[0] != "-c" or "skipped=" not in text)
    if not good:
        runs.failed.append(title)
    if not good or runs.talkative:
        print(f"{'ok' if good else 'FAILED'}: {title}, ended with {code}, {ran[0] if ran else 'no end'}; "
              f"failed: {', '.join(sorted(failed)) or 'none'}; expected: {', '.join(fails) or 'none'}")
    if (not good and runs.talkative) or runs.talkative > 1:
        print("  " + text.replace("\n", "\n  "))


def crash(runs):
    """One end is killed in the middle; nothing of it blocks the next run."""
    name = "ibv_rc_pingpong"
    if not runs.there([name]):
        return
    port = next(runs.ports)
    command = [name, "-g", "0", "-n", "100000000", "-p", str(port)]
    server = runs.start("connectx5", command)
    runs.wait_for(port, server)
    client = runs.start("connectx5", [*command, "127.0.0.1"])
    time.sleep(0.5)
    client.send_signal(signal.SIGKILL)
    client.wait()
    # It notices: its sends are not acknowledged any more. Or it waits for a message that doesn't come, and is ended.
    code, text = runs.end(server, 5)
    if code != "no end" and code < 0:
        runs.failed.append("the end that was left")
        print(f"FAILED: the end that was left died of signal {-code}\n{text}")
    for _ in range(2):
        runs.verdict("after a crash", "connectx5", PASSES, runs.pair("connectx5", [name, "-g", "0", "-n", "50"]))


def wires(runs):
    """Other models, lost packets, and UDP over loopback."""
    rc = ["ibv_rc_pingpong", "-g", "0", "-n", "200", "-c"]
    if not runs.there(rc):
        return
    runs.verdict("rc to e810-roce", "connectx5", PASSES, runs.pair("connectx5", rc, other="e810-roce"))
    runs.verdict("rc with loss", "connectx5", PASSES, runs.pair("connectx5", rc, "--loss", "0.02", "--seed", "3"))
    port = next(runs.ports)
    command = [*rc, "-p", str(port)]
    server = runs.start("rxe-6.12", command, "--net", "udp", "--address", "127.0.0.2")
    runs.wait_for(port, server)
    client = runs.start("rxe-6.12", [*command, "127.0.0.1"], "--net", "udp", "--address", "127.0.0.3")
    ends = [runs.end(client), runs.end(server, 5)]
    runs.verdict("rc over udp", "rxe-6.12", PASSES, ends)


def of_each(row, outcomes):
    """The models that a row is run on when all rows are: see above."""
    passing = [model for model, outcome in outcomes.items() if outcome == PASSES]
    if os.environ.get("VERBENA_CHECK_FULL") or not passing:
        return set(outcomes)
    return set(outcomes) - set(passing) | {passing[row % len(passing)]}


def main():
    words = [word for word in sys.argv[2:] if word != "-v"]
    runs = Runs(os.path.abspath(sys.argv[1]), sys.argv.count("-v"))
    chosen = lambda *names: all(any(word == name for name in names) for word in words)
    drawn = lambda row, outcomes, model: words or model in of_each(row, outcomes)
    for row, (name, command, expected) in enumerate(ALONE):
        for model, outcome in expected.items():
            if chosen(name, model) and drawn(row, expected, model) and runs.there(command):
                runs.verdict(name, model, outcome, [runs.end(runs.start(model, command))])
    for row, (name, command, expected) in enumerate(PAIRS):
        for model, outcome in expected.items():
            if chosen(name, model) and drawn(row, expected, model) and runs.there(command):
                runs.verdict(name, model, outcome, runs.pair(model, command))
    for number, row in enumerate(CONNECTED):
        for model in row[-1]:
            if chosen(row[0], model, "cm") and drawn(number, row[-1], model) and runs.there(row[2]):
                connected(runs, model, row)
    for model in MODELS:
        if chosen("pyverbs", model) and drawn(0, dict.fromkeys(MODELS, PASSES), model):
            pyverbs(runs, model)
    for model in PYVERBS_CM_FAILS:
        if chosen("pyverbs-cm", model, "cm") and drawn(1, dict.fromkeys(PYVERBS_CM_FAILS, PASSES), model):
            pyverbs_connections(runs, model)
    if chosen("crash"):
        crash(runs)
    if chosen("wires"):
        wires(runs)
    print(f"{runs.done} runs, {len(runs.failed)} failed{': ' if runs.failed else ''}{', '.join(runs.failed)}")
    if runs.done == 0:
        return 77
    return 1 if runs.failed else 0


if __name__ == "__main__":
    sys.exit(main())
