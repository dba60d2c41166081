"""Catalogues of machine types: what they refuse, their files, and the planes of their prices."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from streamgauge.errors import InvalidInput, UnreadableFile
from streamgauge.planning.packing.catalogue import (
    GIBIBYTE,
    Catalogue,
    Category,
    MachineType,
    Resource,
)
from streamgauge.planning.packing.files.catalogue_file import (
    catalogue_to_data,
    json_schema,
    load_catalogue,
    parse_catalogue,
)
from streamgauge.planning.packing.prices import fit_price_planes
from streamgauge.topology.files.document import dump_yaml, parse_document

FILE = """
catalogue: 1
container: {cores: 0.5, memory_gib: 1}
machines:
  - {name: small, category: general, cores: 2, memory_gib: 8, price_per_hour: 0.1}
  - {name: large, category: general, cores: 8, memory_gib: 32, price_per_hour: 0.4,
     network_gbit_per_second: 8, router_per_second: 5000, container: {cores: 1}}
"""
EXAMPLE = "examples/catalogues/example-machines.yaml"


def machine(name: str, category: Category, cores: float, gib: float, price: float) -> MachineType:
    return MachineType(
        name=name,
        category=category,
        cores=cores,
        memory_bytes=gib * GIBIBYTE,
        price_per_hour=price,
    )


def test_room_is_what_the_containers_own_processes_leave():
    small, large = parse_catalogue(FILE).machines
    assert small.room[:2].tolist() == [1.5, 7 * GIBIBYTE]
    assert large.room.tolist() == [7.0, 32 * GIBIBYTE, 0.0, 1e9, 5000.0]


def test_only_resources_that_some_machine_limits_are_limits():
    catalogue = Catalogue(name="c", machines=(machine("a", Category.GENERAL, 1, 4, 1),))
    assert catalogue.limits == (Resource.CORES, Resource.MEMORY, Resource.DISK)


def test_a_catalogue_comes_back_from_its_written_form():
    catalogue = parse_catalogue(FILE)
    assert parse_catalogue(dump_yaml(catalogue_to_data(catalogue)), "catalogue") == catalogue


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "cores: 2,",
            "cores: 0,",
            r"5: machines\[0\].cores: 0.0; expected a finite number above 0",
        ),
        ("memory_gib: 8,", "memory_gib: -8,", r":5: machines\[0\].memory_gib: -8"),
        ("price_per_hour: 0.1", "price: 0.1", "unknown key 'price'"),
        ("name: large", "name: small", "the name 'small' twice"),
        ("category: general, cores: 8", "category: genral, cores: 8", "did you mean 'general'"),
        ("{cores: 1}", "{cores: 8}", r"container.cores: 8 of 8; expected less"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_key(old, new, message):
    with pytest.raises(InvalidInput, match=message):
        parse_catalogue(FILE.replace(old, new), "machines.yaml")


def test_an_empty_catalogue_is_refused():
    with pytest.raises(InvalidInput, match="no machine type; expected at least one"):
        parse_catalogue("catalogue: 1\nmachines: []\n")
    with pytest.raises(UnreadableFile):
        parse_catalogue("")


def test_the_schema_takes_what_the_reader_takes_and_is_the_documented_one(project: Path):
    validator = Draft202012Validator(json_schema())
    validator.validate(parse_document(FILE).data)
    assert not validator.is_valid(parse_document(FILE.replace("cores", "kernels")).data)
    committed = (project / "docs/schema/catalogue-1.schema.json").read_text(encoding="utf-8")
    assert json.loads(committed) == json_schema()


def test_the_shipped_example_says_that_it_is_one_and_has_all_categories(project: Path):
    catalogue = load_catalogue(project / EXAMPLE)
    assert catalogue.is_example
    # Table 4.1: 0.13, 0.25 and 0.53 cores per GiB.
    shapes = {c: catalogue.of_category(c)[0].cores_per_gib for c in Category}
    assert shapes == {Category.GENERAL: 0.25, Category.COMPUTE: 0.5, Category.MEMORY: 0.125}


def test_m_09_a_price_plane_finds_the_coefficients_it_was_made_of():
    shapes = [(2, 8), (4, 8), (4, 32), (8, 16), (16, 128)]
    machines = [
        machine(f"m{index}", Category.COMPUTE, cores, gib, 0.03 * cores + 0.004 * gib + 0.01)
        for index, (cores, gib) in enumerate(shapes)
    ]
    plane = fit_price_planes(Catalogue(name="c", machines=tuple(machines)))[Category.COMPUTE]
    assert (plane.per_core, plane.per_gib, plane.base) == pytest.approx((0.03, 0.004, 0.01))
    assert plane.r_squared == pytest.approx(1.0)


def test_m_09_no_coefficient_is_negative_and_a_bad_fit_says_so():
    prices = [1.0, 0.2, 0.9, 0.1]
    machines = [
        machine(f"m{index}", Category.MEMORY, 2 + index, 16, price)
        for index, price in enumerate(prices)
    ]
    plane = fit_price_planes(Catalogue(name="c", machines=tuple(machines)))[Category.MEMORY]
    assert min(plane.per_core, plane.per_gib, plane.base) >= 0.0
    assert plane.r_squared < 0.5


def test_m_09_planes_of_the_example_are_as_good_as_those_published(project: Path):
    for plane in fit_price_planes(load_catalogue(project / EXAMPLE)).values():
        assert 0.814 <= plane.r_squared <= 1.0
