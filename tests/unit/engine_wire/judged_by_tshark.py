#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""judged_by_tshark.py WRITER [PACKETS]: lets tshark dissect every packet that WRITER makes. None may be malformed."""
import collections
import os
import shutil
import subprocess
import sys
import tempfile

FIELDS = ["frame.number", "infiniband.bth.opcode", "_ws.malformed", "_ws.expert.message", "ip.checksum.status",
          "udp.checksum.status", "infiniband.invariant.crc"]
# What tshark 4.0 dissects no further than the BTH, so that it shows no ICRC: FLUSH and ATOMIC WRITE are newer (IBTA annex
# A19), congestion notifications it doesn't have.
NOT_DISSECTED = {"28": "RC FLUSH", "29": "RC ATOMIC WRITE", "129": "CNP"}
# These recognise themselves in the payload, which is random here.
GUESSES = ["fcoib", "infiniband.eoib", "infiniband_sdp", "iser", "lnet", "nvme-rdma", "rpcordma", "smb_direct", "smc"]


def main():
    if not shutil.which("tshark"):
        print("skipped: tshark isn't installed (tshark)")
        return 77
    writer, packets = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "engine.pcapng")
        wrote = subprocess.run([writer, path, str(packets)])
        if wrote.returncode == 77:
            return 77  # and said why
        wrote.check_returncode()
        command = ["tshark", "-n", "-r", path, "-T", "fields", "-E", "separator=|", "-o", "ip.check_checksum:TRUE",
                   "-o", "udp.check_checksum:TRUE"]
        for protocol in GUESSES:
            command += ["--disable-protocol", protocol]
        for field in FIELDS:
            command += ["-e", field]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               text=True).stdout.splitlines()
    bad, kinds, unread = [], collections.Counter(), collections.Counter()
    for line in lines:
        number, opcode, malformed, expert, ip_sum, udp_sum, crc = line.split("|")
        kinds[opcode] += 1
        if not crc and opcode in NOT_DISSECTED:
            unread[NOT_DISSECTED[opcode]] += 1
        # Checksum status of tshark: 0 bad, 1 good, 2 unverified, 3 not present.
        if malformed or not opcode or (not crc and opcode not in NOT_DISSECTED) or ip_sum == "0" or udp_sum == "0":
            bad.append(f"packet {number}, opcode {opcode}: {malformed} {expert} ip {ip_sum} udp {udp_sum} icrc {crc}")
    print("\n".join(bad[:20]))
    version = subprocess.run(["tshark", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             text=True).stdout.splitlines()[0]
    print(f"{version}: {len(lines)} packets, {len(kinds)} opcodes, {len(bad)} malformed or with a bad checksum")
    if unread:
        print("dissected as far as the BTH: " + ", ".join(f"{name} {count}" for name, count in unread.items()))
    return 0 if len(lines) == packets and not bad else 1


sys.exit(main())
