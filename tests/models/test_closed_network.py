"""Closed and semi-open networks against numbers worked by hand, closed forms and Markov chains."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.models.closed_network import (
    MOST_EXACT,
    Admission,
    ClosedNetwork,
    departure_scv,
    find_admission,
)


def network(*demands, delay=0.0):
    return ClosedNetwork(demands=np.asarray(demands, dtype=float), delay_seconds=delay)


def throughput(one, customers):
    return customers / one.round_seconds(customers)[-1]


def test_rounds_are_those_of_mean_value_analysis_by_hand():
    """Residence 1 and ½; then 1·(1 + ⅔) and ½·(1 + ⅓); then 1·(1 + 10/7) and ½·(1 + 4/7)."""
    expected = [3 / 2, 7 / 3, 45 / 14]
    assert network(1.0, 0.5).round_seconds(3) == pytest.approx(expected)


@pytest.mark.parametrize("customers", [1, 2, 7, 40])
def test_balanced_stations_share_their_customers_evenly(customers):
    expected = customers / (customers + 4 - 1) / 0.2
    assert throughput(network(0.2, 0.2, 0.2, 0.2), customers) == pytest.approx(expected)


@pytest.mark.parametrize("customers", [1, 3, 10, 30])
def test_one_station_and_a_delay_are_machines_and_a_repairman(customers):
    """P(repairman idle) = 1/Σ N!/(N − k)!·(s/z)^k."""
    service, delay = 1.0, 9.0
    idle = 1 / sum(math.perm(customers, k) * (service / delay) ** k for k in range(customers + 1))
    expected = (1 - idle) / service
    assert throughput(network(service, delay=delay), customers) == pytest.approx(expected)


def enumerated_throughput(demands, delay, customers):
    """G(N − 1)/G(N), every state of the network counted one by one."""

    def constant(number):
        total = 0.0
        for state in itertools.product(range(number + 1), repeat=len(demands)):
            away = number - sum(state)
            if away >= 0:
                weight = math.prod(d**k for d, k in zip(demands, state, strict=True))
                total += weight * delay**away / math.factorial(away)
        return total

    return constant(customers - 1) / constant(customers)


@given(
    demands=st.lists(st.floats(0.05, 2.0), min_size=1, max_size=3),
    delay=st.floats(0.01, 5.0),
    customers=st.integers(1, 6),
)
def test_throughput_is_the_ratio_of_normalising_constants(demands, delay, customers):
    expected = enumerated_throughput(demands, delay, customers)
    assert throughput(network(*demands, delay=delay), customers) == pytest.approx(expected)


def test_many_customers_are_as_the_repairman_has_them():
    """Beyond a thousand, one at a time is too slow; 1 − B(N, z/s) by Erlang's recursion."""
    customers, delay = 4 * MOST_EXACT, 4000.0
    blocked = 1.0
    for number in range(1, customers + 1):
        blocked = delay * blocked / (number + delay * blocked)
    found = throughput(network(1.0, delay=delay), customers)
    assert found == pytest.approx(1 - blocked, rel=0.01)


@given(
    demands=st.lists(st.floats(0.01, 2.0), min_size=1, max_size=5),
    delay=st.floats(0.0, 20.0),
    customers=st.integers(1, 60),
)
def test_throughput_grows_with_customers_up_to_what_the_busiest_station_can_do(
    demands, delay, customers
):
    rates = np.arange(1, customers + 1) / network(*demands, delay=delay).round_seconds(customers)
    assert np.all(np.diff(rates) >= -1e-9)
    numbers = np.arange(1, customers + 1)
    bound = np.minimum(1 / max(demands), numbers / (delay + sum(demands)))
    assert np.all(rates <= bound * (1 + 1e-9))


@given(
    demands=st.lists(st.floats(0.05, 2.0), min_size=1, max_size=4),
    delay=st.floats(0.0, 20.0),
    customers=st.integers(1, 40),
)
def test_stations_that_meet_that_part_of_the_traffic_take_as_long(demands, delay, customers):
    one = network(*demands, delay=delay)
    seconds = one.round_seconds(customers)[-1]
    rate = customers / seconds
    met = one.part_met(rate, seconds)
    again = delay + sum(d / (1 - met * rate * d) for d in demands)
    assert again == pytest.approx(seconds, rel=1e-6)


def test_two_customers_at_one_station_meet_half_of_the_traffic():
    assert network(1.0).part_met(1.0, 2.0) == pytest.approx(0.5)


@pytest.mark.parametrize(("places", "load"), [(1, 0.4), (3, 2.0), (20, 17.0)])
def test_places_with_a_delay_are_servers_of_erlang(places, load):
    blocked = 1.0
    for number in range(1, places + 1):
        blocked = load * blocked / (number + load * blocked)
    waits = blocked / (1 - load / places * (1 - blocked))
    found = find_admission(load, np.ones(places))
    assert found.waits == pytest.approx(waits)
    assert found.mean == pytest.approx(waits / (places - load))
    assert found.inside == pytest.approx(load)


@pytest.mark.parametrize("places", [1, 2, 9])
def test_one_station_is_m_m_1_however_many_places_it_has(places):
    """Outside and inside together: ρ/(1 − ρ) customers."""
    found = find_admission(0.7, network(1.0).round_seconds(places))
    assert found.waits == pytest.approx(0.7**places)
    assert found.inside + 0.7 * found.mean == pytest.approx(0.7 / 0.3)


def tandem_chain(rate, first, second, places, most):
    """Mean wait outside of two exponential stations in a row, by the balance of all states.

    A state is (customers at the first station, at the second, outside); outside is cut at `most`.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    states = [
        (a, b, out)
        for a, b in itertools.product(range(places + 1), repeat=2)
        if a + b <= places
        for out in range(most + 1 if a + b == places else 1)
    ]
    index = {state: number for number, state in enumerate(states)}
    moves = []
    for a, b, out in states:
        here = index[a, b, out]
        if a + b < places:
            moves.append((here, index[a + 1, b, 0], rate))
        elif out < most:
            moves.append((here, index[a, b, out + 1], rate))
        if a:
            moves.append((here, index[a - 1, b + 1, out], 1 / first))
        if b:
            then = (a + 1, b - 1, out - 1) if out else (a, b - 1, 0)
            moves.append((here, index[then], 1 / second))
    rows, columns, rates = (np.asarray(one) for one in zip(*moves, strict=True))
    size = len(states)
    flow = coo_array((rates, (columns, rows)), shape=(size, size)).toarray()
    flow -= np.diag(flow.sum(axis=0))
    flow[-1] = 1.0
    chance = spsolve(coo_array(flow).tocsc(), np.eye(size)[-1])
    return sum(p * state[2] for p, state in zip(chance, states, strict=True)) / rate


def round_variation(demands, customers):
    """Σ R²/(Σ R)², times at stations being exponential."""
    present = np.zeros(len(demands))
    for number in range(1, customers + 1):
        times = np.asarray(demands) * (1.0 + present)
        present = number / times.sum() * times
    return float((times**2).sum() / times.sum() ** 2)


@pytest.mark.parametrize("second", [0.2, 0.7, 1.0])
@pytest.mark.parametrize("places", [1, 2, 3, 5, 10])
@pytest.mark.parametrize(("load", "within"), [(0.3, 0.17), (0.8, 0.09)])
def test_the_wait_for_two_stations_in_a_row_is_near_that_of_their_markov_chain(
    second, places, load, within
):
    one = network(1.0, second)
    most = throughput(one, places)
    scv = departure_scv(round_variation([1.0, second], places), 1.0, most, places)
    found = find_admission(load * most, one.round_seconds(places), scv=scv)
    exact = tandem_chain(load * most, 1.0, second, places, most=150)
    assert found.mean == pytest.approx(exact, rel=within)
    if places == 1:
        assert found.mean == pytest.approx(exact, rel=1e-6)


def test_more_than_the_places_let_through_waits_for_ever():
    found = find_admission(2.0, np.ones(2))
    assert found.waits == 1.0
    assert found.mean == found.quantile(0.5) == math.inf
    assert found.inside == 2.0


def test_even_departures_halve_the_wait():
    even, uneven = (find_admission(1.5, np.ones(2), scv=scv) for scv in (0.0, 1.0))
    assert even.mean == pytest.approx(uneven.mean / 2)


def test_the_moments_and_quantiles_of_a_wait_are_those_of_its_distribution():
    """Nothing with probability ¾, else exponential of mean 2."""
    wait = Admission(waits=0.25, wait_seconds=2.0, inside=1.0)
    assert wait.mean == pytest.approx(0.5)
    assert wait.variance == pytest.approx(0.25 * 2 * 2.0**2 - 0.5**2)
    assert wait.quantile(0.75) == 0.0
    assert wait.quantile(0.95) == pytest.approx(2 * math.log(5))
    assert wait.transform(np.asarray([1.0 + 0j])) == pytest.approx(0.75 + 0.25 / 3)


def test_nobody_waits_where_places_abound():
    generous = find_admission(0.5, network(1.0, delay=2.0).round_seconds(400))
    assert generous.mean < 1e-12
    assert generous.inside == pytest.approx(0.5 * 2.0 + 1.0)
