#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""judged_by_scapy.py WRITER [PACKETS]: lets scapy work out the ICRC of every packet that WRITER makes. 0 may differ.

Over IPv4 scapy's RoCE layer does all of it. Debian 12's has nothing for IPv6: there its dissection gives the fields, and
they are masked here; a later scapy is asked itself.
"""
import collections
import os
import struct
import subprocess
import sys
import tempfile
import zlib

try:
    import scapy  # noqa: F401
except ImportError:
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])
    print("skipped: python3 module scapy isn't installed (python3-scapy)")
    sys.exit(77)

from scapy.contrib import roce
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.packet import Raw
from scapy.utils import PcapNgReader

ETHERNET_BYTES = 14
SCAPY_HAS_IPV6 = hasattr(roce, "IPv6")


def icrc_over_ipv6(ip):
    """CRC-32 over eight bytes of ones and the packet with ones where a router may write."""
    bth = ip[roce.BTH].copy()
    behind = bytes(bth.payload)
    bth.remove_payload()
    bth.fecn, bth.becn, bth.resv6 = 1, 1, 0x3F
    masked = ip.copy()
    masked.tc, masked.fl, masked.hlim = 0xFF, 0xFFFFF, 0xFF
    masked[UDP].chksum = 0xFFFF
    masked[UDP].payload = Raw(bth.self_build()[:12] + behind)
    crc = zlib.crc32(b"\xff" * 8 + bytes(masked))
    return struct.pack("<I", crc)


def main():
    writer, packets = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10000
    judged, differ = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "engine.pcapng")
        wrote = subprocess.run([writer, path, str(packets)])
        if wrote.returncode == 77:
            return 77  # and said why
        wrote.check_returncode()
        for number, record in enumerate(PcapNgReader(path)):
            data = bytes(record.original)[ETHERNET_BYTES:]
            ip = IP(data) if data[0] >> 4 == 4 else IPv6(data)
            if roce.BTH not in ip:
                sys.exit(f"packet {number} is no RoCE packet to scapy: {data.hex()}")
            bth = ip[roce.BTH]
            if ip.version == 4 or SCAPY_HAS_IPV6:
                theirs = bth.compute_icrc(None)
            else:
                theirs = icrc_over_ipv6(ip)
            ours = struct.pack("!I", bth.icrc)
            if ours != data[-4:] or ours != theirs:
                differ.append(f"packet {number}, opcode {bth.opcode:#x}, IPv{ip.version}: {ours.hex()} {theirs.hex()}")
            judged[ip.version, bth.opcode] += 1
    print("\n".join(differ[:20]))
    total = sum(judged.values())
    print(f"scapy {scapy.__version__}: {total} packets, {len(judged)} kinds, {len(differ)} ICRCs differ")
    if not SCAPY_HAS_IPV6:
        print("note: this scapy has no ICRC over IPv6: those were masked here")
    return 0 if total == packets and not differ else 1


sys.exit(main())
