"""Bytes between processes of this machine, read from the packets of its loopback device.

A connection that lives for milliseconds counts as any other, which counters of processes and of
open sockets miss. To look at packets needs the right to (root, or CAP_NET_RAW).
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

DEVICE = "lo"
ALL_PROTOCOLS, IPV4, TCP = 3, 0x0800, 6
SYN, SYN_ANSWER = 0x02, 0x12
# Ethernet, and the largest headers of IP and TCP.
HEADERS = 14 + 60 + 60
BUFFER_BYTES = 1 << 25
# Of a packet socket: how many packets there were, and how many did not fit (packet(7)).
SOL_PACKET, PACKET_STATISTICS = 263, 6
WAIT_SECONDS = 0.2


class Segment(NamedTuple):
    """A TCP segment: its ports, its payload, and whether it opens a connection."""

    source: int
    target: int
    payload: int
    opens: bool


class Flow(NamedTuple):
    """Who opened a connection, whom it leads to, and whether bytes go to the one who opened it."""

    client: str
    server: str
    is_answer: bool


def read_segment(packet: bytes) -> Segment | None:
    """The segment in an Ethernet frame that may be cut off after its headers; None: no TCP."""
    if len(packet) < HEADERS - 80 or struct.unpack_from("!H", packet, 12)[0] != IPV4:
        return None
    head = 4 * (packet[14] & 0x0F)
    if packet[14 + 9] != TCP or len(packet) < 14 + head + 20:
        return None
    total = struct.unpack_from("!H", packet, 16)[0]
    source, target = struct.unpack_from("!HH", packet, 14 + head)
    own, flags = packet[14 + head + 12] >> 4, packet[14 + head + 13]
    return Segment(source, target, total - head - 4 * own, flags & SYN_ANSWER == SYN)


class Listener:
    """Counts payload by flow while it is open; afterwards `lost` tells how many packets it missed.

    Args:
        servers: Roles by the port that they listen at.
        usual: Who opens connections to a role that are gone before one can look whose they are.
        role_of: The role of a process by its number.
        processes: Numbers of the processes that may open connections.
    """

    def __init__(
        self,
        servers: Mapping[int, str],
        usual: Mapping[str, str],
        role_of: Callable[[int], str],
        processes: Callable[[], list[int]],
    ) -> None:
        self._servers, self._usual = servers, usual
        self._role_of, self._processes = role_of, processes
        self._clients: dict[int, str] = {}
        self.bytes: Counter[Flow] = Counter()
        self.opened: Counter[Flow] = Counter()
        self.lost = 0
        self._stop = threading.Event()

    def __enter__(self) -> Listener:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self._socket.bind((DEVICE, 0))
        self._socket.settimeout(WAIT_SECONDS)
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        told = self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
        self.lost = struct.unpack("II", told)[1]
        self._socket.close()

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                packet, address = self._socket.recvfrom(HEADERS)
            except TimeoutError:
                continue
            # Every packet of the loopback device is seen as it leaves and as it comes.
            if address[2] == socket.PACKET_OUTGOING:
                segment = read_segment(packet)
                if segment is not None:
                    self._take(segment)

    def _take(self, segment: Segment) -> None:
        if segment.target in self._servers:
            client, server, answer = segment.source, segment.target, False
        elif segment.source in self._servers:
            client, server, answer = segment.target, segment.source, True
        else:
            return
        if segment.opens or client not in self._clients:
            self._clients[client] = self._find_role(client) or self._usual[self._servers[server]]
        flow = Flow(self._clients[client], self._servers[server], answer)
        self.bytes[flow] += segment.payload
        self.opened[flow] += segment.opens

    def _find_role(self, port: int) -> str | None:
        """The role of the process that has a port; None where it is gone already."""
        inode = find_inode(port)
        for process in self._processes() if inode is not None else ():
            folder = Path(f"/proc/{process}/fd")
            with suppress(OSError):
                for file in folder.iterdir():
                    with suppress(OSError):
                        if str(file.readlink()) == f"socket:[{inode}]":
                            return self._role_of(process)
        return None


def find_inode(port: int) -> str | None:
    """The socket that was opened from a port of this machine."""
    for table in ("tcp6", "tcp"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if int(fields[1].rpartition(":")[2], 16) == port and fields[9] != "0":
                return fields[9]
    return None
