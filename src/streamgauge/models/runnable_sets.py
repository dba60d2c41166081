"""Sums over all sets of threads: how many of them run, and what that is worth to each.

Threads run independently of each other, each with a chance of its own; a set counts by the number
of its members. The number is Poisson-binomial: a product of polynomials, taken in pairs, pairs of
pairs and so on up to the whole. What a set is worth to one thread follows on the way back down,
where each half learns what the numbers in the other half are worth to it. Nothing is subtracted or
divided, so that no digits are lost, and all machines are computed at once: they are the last index.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


class RunnableSets:
    """The threads of some machines, as many on each.

    Args:
        chance: To run, by thread and machine; zero where there is no such thread.
        load: By thread and machine.
        most: The largest number of runnable threads that matters.
    """

    def __init__(self, chance: Vector, load: Vector, most: int) -> None:
        self._threads = len(chance)
        depth = (len(chance) - 1).bit_length()
        # Whoever never runs changes nothing: with them halves are equal all the way up.
        numbers, loads = np.zeros((2, 1 << depth, 2, chance.shape[1]))
        numbers[:, 0] = 1.0
        numbers[: len(chance), 0] -= chance
        numbers[: len(chance), 1] = chance
        np.multiply(chance, load, out=loads[: len(chance), 1])
        self._levels = [numbers]
        for _ in range(depth):
            # The load of both halves is that of one whatever the other's number, and vice versa.
            left = np.array([numbers[::2], loads[::2], loads[1::2]])
            right = np.array([numbers[1::2], numbers[1::2], numbers[::2]])
            product = _products(left, right)[:, :, : most + 1]
            numbers, loads = product[0], product[1] + product[2]
            self._levels.append(numbers)
        self._loads = loads[0]

    @property
    def number(self) -> Vector:
        """Probability of 0, 1, 2 … runnable threads, by machine."""
        return np.asarray(self._levels[-1][0])

    @property
    def loads(self) -> Vector:
        """Mean sum of the loads of those that run, by their number.

        Numbers so unlikely that they vanish have no mean, and matter to nothing.
        """
        return np.asarray(self._loads / np.maximum(self.number, np.finfo(np.float64).tiny))

    def worth(self, weights: Vector) -> Vector:
        """Mean weight of the set, for each thread if it does not run and if it does.

        Args:
            weights: Several weights of sets, by the number of their members and machine.

        Returns:
            By weight, thread, whether it runs (0 or 1), and machine.
        """
        found = weights[:, np.newaxis]
        for numbers in self._levels[-2::-1]:
            found = _seen_by_halves(found, numbers)
        return found[:, : self._threads]


def _products(left: Vector, right: Vector) -> Vector:
    """Products of polynomials; their coefficients are the last index but one."""
    degree = left.shape[2] - 1
    padded = np.zeros((*left.shape[:2], 3 * degree + 1, left.shape[3]))
    padded[:, :, degree : 2 * degree + 1] = left
    found: Vector = np.einsum("pknim,pkim->pknm", _windows(padded, degree + 1), right[:, :, ::-1])
    return found


def _seen_by_halves(worth: Vector, halves: Vector) -> Vector:
    """What numbers in one half are worth on the mean over those in the other.

    Args:
        worth: By weight, whole, number and machine.
        halves: Distributions by half (those of all wholes in a row), number and machine.

    Returns:
        By weight, half, number and machine.
    """
    size, machines = halves.shape[1:]
    padded = np.zeros((*worth.shape[:2], 2 * size - 1, machines))
    padded[:, :, : worth.shape[2]] = worth[:, :, : 2 * size - 1]
    other = halves.reshape(-1, 2, size, machines)[:, ::-1]
    found: Vector = np.einsum("vknjm,kcjm->vkcnm", _windows(padded, size), other)
    return found.reshape(len(worth), -1, size, machines)


def _windows(padded: Vector, width: int) -> Vector:
    """Views of `width` entries in a row along the last index but one; made by hand for speed."""
    first, second, length, machines = padded.shape
    a, b, c, d = padded.strides
    shape = (first, second, length - width + 1, width, machines)
    return np.ndarray(shape, np.float64, padded, 0, (a, b, c, c, d))
