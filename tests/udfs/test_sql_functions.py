"""The SQL functions in a real DuckDB: nulls, empty tables, several chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, TypeVar

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from promptaudit.udfs.arrow import call, encoded, null_for_nan
from promptaudit.udfs.register import functions, register
from promptaudit.udfs.sql_types import element, is_array, sql_type


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        register(connection)
        yield connection


def one(con: duckdb.DuckDBPyConnection, expression: str) -> Any:
    ((value,),) = con.sql(f"select {expression}").fetchall()
    return value


def test_entropy_of_thirty_variants(con: duckdb.DuckDBPyConnection) -> None:
    assert one(con, "normalised_entropy([24/30, 3/30, 3/30], 3)") == pytest.approx(0.581672, abs=1e-6)
    assert one(con, "normalised_entropy([24/30, NULL, 3/30, 0, 3/30], 3)") == pytest.approx(0.581672, abs=1e-6)


@pytest.mark.parametrize("call", ["([], 3)", "(NULL, 3)", "([1.0], 1)", "([1.0], NULL)", "([NULL], 3)"])
def test_undefined_entropy_is_null(con: duckdb.DuckDBPyConnection, call: str) -> None:
    assert one(con, f"normalised_entropy{call}") is None


@pytest.mark.parametrize(
    "call",
    [
        "normalised_entropy([x], 3)",
        "corrected_sensitivity([x], [x], [1], 3)",
        "sensitivity_interval([x], [x], [x], [x], [1], 3)",
        "consistency_rate([x], [x], [x], [x], [1])",
        "consistency([x], [x], [x], [1], 1, 10)",
        "mean_consistency([x], [x], [x], [1])",
        "consistency_wordings([x], [x], [x], [x], [x], [1])",
        "disagreement_shares([x], [x], [x], [x], [1], [1])",
        "prompt_stability([x], [x], [x], [x], ['a'], 'nominal', false, 1, 10)",
        "prompt_stability_of_all([x], [x], [x], ['a'], 'nominal')",
        "prompt_stability_by_share([x], [x], [x], ['a'], [x], 'nominal', 1)",
        "measures_by_wordings([x], [x], [x], [x], [1], 3, 1)",
        "pair_distances([x], [x], [1], 1)",
        "sample_pairs([x], [x], [1])",
        "two_way_interval([x], [x], [1], [x])",
        "wording_accuracies([x], [x], [1])",
        "wording_quantiles([x], [x], [1])",
        "scoring_spread([x], [x], [1], 1, 10)",
        "wording_families([x::varchar])",
    ],
)
def test_an_empty_table_keeps_its_types(con: duckdb.DuckDBPyConnection, call: str) -> None:
    con.execute(f"create table empty_one as select {call} as figure from (select x::integer as x from range(0) t(x))")
    con.execute(f"create table full_one as select {call} as figure from (select x::integer as x from range(2500) t(x))")
    types = [con.table(name).types for name in ("empty_one", "full_one")]
    assert types[0] == types[1]
    assert con.sql("select count(*) from empty_one").fetchall() == [(0,)]
    assert con.sql("select count(*) from full_one").fetchall() == [(2500,)]


@pytest.mark.parametrize("lists", ["NULL, NULL, NULL", "[], [], []"])
def test_no_entries_give_null_figures(con: duckdb.DuckDBPyConnection, lists: str) -> None:
    assert one(con, f"corrected_sensitivity({lists}, 3)") is None
    assert one(con, f"sensitivity_interval({lists}, [], [], 3).mean") is None
    assert one(con, f"consistency({lists}, [], 1, 10).consistency") is None
    assert one(con, f"mean_consistency({lists}, [])") == []
    assert one(con, f"consistency_wordings({lists}, [], [], []).low") is None
    assert one(con, f"disagreement_shares({lists}, [], [], []).item_share") is None
    assert one(con, f"prompt_stability({lists}, [], [], 'nominal', false, 1, 10)") == []
    assert one(con, f"prompt_stability_of_all({lists}, [], 'nominal')") == []
    assert one(con, f"prompt_stability_by_share({lists}, [], [], 'nominal', 0)") == []
    assert one(con, f"two_way_interval({lists}, []).mean") is None
    assert one(con, f"wording_accuracies({lists})") == []
    assert one(con, f"wording_quantiles({lists}).median") is None
    assert one(con, f"scoring_spread({lists}, 1, 10).std_corrected") is None
    assert one(con, f"measures_by_wordings({lists}, [], [], 3, 1)") == []
    assert one(con, f"pair_distances({lists}, 1)") == one(con, f"sample_pairs({lists})") == []


def test_more_rows_than_a_chunk_are_kept_apart(con: duckdb.DuckDBPyConnection) -> None:
    """Samples of growing numbers of variants, some of them filtered away so that lists arrive sliced."""
    con.execute("""
        create table answers as
        select s as sample_id, v::integer as variant, (hash(s, v) % 3)::integer as answer
        from range(9000) samples(s), range(9) variants(v)
        where v < 6 + s % 4 and s % 7 <> 0
    """)
    grouped = """
        select sample_id, corrected_sensitivity(list(variant), list(answer), list(1.0), 4) as figure,
            count(*) as q, list(answer order by variant) as answers
        from answers group by sample_id
    """
    rows = con.sql(grouped).fetchall()
    assert len(rows) > 3 * 2048
    for sample_id, figure, q, answers in rows[:: len(rows) // 50]:
        assert (figure is None) == (q < 8), sample_id
        if q == 8:
            shares = np.bincount(answers) / q
            less = [np.bincount(np.delete(answers, v)) / (q - 1) for v in range(q)]
            plain, *without = (-sum(p * math.log(p) for p in each if p) / math.log(4) for each in (shares, *less))
            assert figure == pytest.approx(min(1, 8 * plain - 7 * sum(without) / 8))
    case = "select count(case when sample_id % 3 = 1 and q > 7 then figure end), count_if(sample_id % 3 = 1 and q > 7)"
    (counted,) = con.sql(f"{case} from ({grouped})").fetchall()
    assert counted[0] == counted[1]


def test_a_null_label_is_a_class_whatever_the_codes(con: duckdb.DuckDBPyConnection) -> None:
    # 0 must not be taken for the NULL beside it
    assert one(con, "sensitivity_interval([7, 7], [-1, 2147483647], [1, 2], [NULL, 0], [1, 1], 4).mean") == 0.5
    assert one(con, "sensitivity_interval([7, 7], [5, 6], [1, 2], [NULL, NULL], [1, 1], 4).mean") == 0
    same = "consistency([7, 7], [1, 2], [NULL, {}], [1, 1], 1, 0).consistency"
    assert one(con, same.format("NULL")) == 1
    assert one(con, same.format("0")) == 0.5


def test_measures_by_wordings_of_hashed_codes(con: duckdb.DuckDBPyConnection) -> None:
    # sample -7 is a, N/A over two wordings, 9 is a, a; without gold there is sensitivity alone
    call = "measures_by_wordings([{0}, {0}, {0}, {0}], [-7, -7, 9, 9], [5, 6, 5, 6], [-3, NULL, -3, -3], [1, 1, 1, 1], 2, NULL)"
    rows = one(con, call.format(4))
    assert rows == [
        {
            "n_wordings": 2,
            "sensitivity": 0.5,
            "is_sensitivity_exact": True,
            "consistency": 0.75,
            "consistency_subset_std": 0,
            "n_subsets": 1,
            "n_samples": 2,
        }
    ]
    assert one(con, f"({call.format('NULL')})[1].consistency") is None


def test_pairs_have_the_samples_own_codes(con: duckdb.DuckDBPyConnection) -> None:
    lists = "[70, 90, 70, 80], [NULL, NULL, 1, 1], [0.5, 1, 0.5, 1]"
    rows = one(con, f"sample_pairs({lists})")
    assert isinstance(rows, list)
    assert {frozenset((row["sample"], row["other_sample"])): row["similarity"] for row in rows} == {
        frozenset((70, 80)): 0.5,
        frozenset((70, 90)): 0.5,
        frozenset((80, 90)): 0,
    }
    counted = one(con, f"pair_distances({lists}, 1)")
    assert isinstance(counted, list)
    assert [(row["similarity_low"], row["n_pairs"]) for row in counted] == [(0, 1), (0.5, 2)]


def test_samples_without_gold_are_left_out(con: duckdb.DuckDBPyConnection) -> None:
    call = "mean_consistency([NULL, 1, 1, 2], [-5, 7, 8, 9], [1, 1, 1, 1], [1, 1, 1, 1])"
    assert one(con, call) == [
        {"sample": 7, "mean_consistency": 1.0},
        {"sample": 8, "mean_consistency": 1.0},
        {"sample": 9, "mean_consistency": None},
    ]


def test_prompt_stability_of_three_annotators(con: duckdb.DuckDBPyConnection) -> None:
    # units aab, bbb: alpha 1 - (2/6)/(16/30); the third annotator is first by its code, -4
    call = """prompt_stability(
        [1, 1, 1, 2, 2, 2], [3, 8, -4, 3, 8, -4], [3, 8, -4, 3, 8, -4], [NULL, NULL, NULL, NULL, NULL, NULL],
        ['a', 'a', 'b', 'b', 'b', 'b'], 'nominal', false, 1, 100)"""
    rows = con.sql(f"select unnest({call}, recursive := true)").fetchall()
    assert [(row[0], row[1]) for row in rows] == [
        ("cumulative", 2),
        ("cumulative", 3),
        ("adjacent", 2),
        ("adjacent", 3),
        ("all", 3),
    ]
    # first two by code: ba, bb; counts a 1, b 3: 1 - (2/4)/(6/12) = 0
    assert rows[0][2] == pytest.approx(0)
    assert rows[-1][2] == pytest.approx(1 - (2 / 6) / (16 / 30))
    assert rows[-1][-3:] == (False, 2, 6)


def test_missing_labels_count_their_annotator(con: duckdb.DuckDBPyConnection) -> None:
    labels = "list(case when a < 2 then s % 2 || 'x' end)"
    call = f"prompt_stability(list(s), list(a), list(a), list(1), {labels}, 'nominal', {{}}, 1, 50)"
    table = "from (select s::integer as s, a::integer as a from range(30) s(s), range(3) a(a))"
    rows = con.sql(f"select unnest({call.format('false')}, recursive := true) {table}").fetchall()
    assert [(row[1], row[2], row[-2]) for row in rows if row[0] == "cumulative"] == [(2, 1.0, 30), (3, 1.0, 30)]
    assert rows[3][2] is None  # adjacent, nothing pairable
    assert rows[3][-3] is None
    balanced = con.sql(f"select unnest({call.format('true')}, recursive := true) {table}").fetchall()
    assert {row[2] for row in balanced} == {None}


def test_ordinal_labels_are_ranks_not_text(con: duckdb.DuckDBPyConnection) -> None:
    two = "[1, 2, 1, 2, 1, 2]"
    call = f"prompt_stability([1, 1, 2, 2, 3, 3], {two}, {two}, [1, 1, 1, 1, 1, 1], {{}}, {{}}, false, 1, 0)[1].pss"
    spread, ranked = "['2', '10', '1', '1', '30', '30']", "['2', '3', '1', '1', '4', '4']"
    assert one(con, call.format(spread, "'ordinal'")) == pytest.approx(one(con, call.format(ranked, "'ordinal'")))
    assert one(con, call.format(spread, "'interval'")) != one(con, call.format(ranked, "'interval'"))
    assert one(con, call.format("['1', '1.0', '2', '2', '3', '3e0']", "'interval'")) == 1


def test_every_alpha_of_the_four_coders(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""
        create table coders as select unit, coder, label from (
            select generate_subscripts(l, 1)::integer as unit, coder, unnest(l) as label from (values
                (1, [1, 2, 3, 3, 2, 1, 4, 1, 2, NULL, NULL, NULL]), (2, [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NULL, 3]),
                (3, [NULL, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NULL]), (4, [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NULL])
            ) t(coder, l))
    """)
    for level, published in (("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)):
        call = f"prompt_stability(list(unit), list(coder), list(coder), list(1), list(label::varchar), '{level}', false, 1, 200)"
        row = one(con, f"{call}[-1] from coders")
        assert row["pss"] == pytest.approx(published, abs=1e-6)
        assert row["pss_low"] < row["pss_boot_low"] < row["pss"] < row["pss_boot_high"]
        assert (row["n_annotators"], row["n_samples"], row["n_annotations"]) == (4, 11, 40)


def test_groups_of_one_query_equal_groups_alone(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("""
        create table asked as select g, s::integer as s, a::integer as a, (hash(s, a // (1 + g)) % 3)::varchar as label
        from range(5) g(g), range(20) s(s), range(4) a(a)
    """)
    call = "prompt_stability(list(s), list(a), list(a), list(1), list(label), 'nominal', false, 7, 100)"
    together = dict(con.sql(f"select g, {call} from asked group by g").fetchall())
    for g in range(5):
        assert together[g] == one(con, f"{call} from (from asked where g = {g} order by hash(s + a))")


def test_lists_of_unequal_length_are_refused(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(duckdb.Error, match=r"two_way_interval: .* got 2 sample and 1 variant"):
        one(con, "two_way_interval([1, 2], [1], [1, 1], [1, 1])")


@pytest.mark.parametrize(
    ("labels", "level", "message"),
    [("['1', 'x']", "interval", "'x'|x"), ("['1', 'nan']", "ordinal", "nan"), ("['1', '2']", "ratio", "nominal")],
)
def test_labels_that_are_no_numbers_are_refused(
    con: duckdb.DuckDBPyConnection, labels: str, level: str, message: str
) -> None:
    with pytest.raises(duckdb.Error, match=message):
        one(con, f"prompt_stability([1, 1], [1, 2], [1, 2], [1, 1], {labels}, '{level}', false, 1, 0)")


def test_no_nan_leaves(con: duckdb.DuckDBPyConnection) -> None:
    figures = con.sql("""
        select unnest(prompt_stability([1, 2], [1, 2], [1, 2], [1, 1], ['a', 'b'], 'nominal', false, 1, 10), recursive := true)
    """).fetchall()
    assert all(value is None or value == value for row in figures for value in row)  # noqa: PLR0124 - NaN is not itself


def test_accuracies_of_templates(con: duckdb.DuckDBPyConnection) -> None:
    variants = "[1,2,3,1,2,3,1,2,3,1,2,3]"
    lists = f"[1,1,1,2,2,2,3,3,3,4,4,4], {variants}, [1,1,0,1,0,0,1,1,1,0,1,0], {variants}"
    row = one(con, f"two_way_interval({lists})")
    assert isinstance(row, dict)
    assert row["mean"] == pytest.approx(1.75 / 3)
    assert row["low"] < row["mean"] < row["high"]


def test_accuracies_by_wording_are_fitted_to_all_samples(con: duckdb.DuckDBPyConnection) -> None:
    # right by the sample alone: 2, 7 and 9 are 1, 5 is 0; the wording -4 is not asked on 5
    sample, wording = "[2, 2, 5, 5, 7, 7, 9, 9]", "[-4, 30, 30, 8, 8, -4, -4, 30]"
    cells = f"{sample}, {wording}, [1, 1, 0, 0, 1, 1, 1, 1]"
    assert one(con, f"two_way_interval({cells}, {wording}).mean") == pytest.approx((1 + 2 / 3 + 1 / 2) / 3)
    assert one(con, f"wording_accuracies({cells})") == [
        {"variant": variant, "accuracy": pytest.approx(3 / 4), "shrunk": pytest.approx(3 / 4)}
        for variant in (-4, 8, 30)
    ]
    assert one(con, f"wording_quantiles({cells})") == {"worst_5": None, "median": pytest.approx(0.75), "best_5": None}
    assert one(con, f"scoring_spread({cells}, 1, 50).std") == pytest.approx(0.2079, abs=1e-4)


def test_arrow_slices_and_chunks() -> None:
    """What DuckDB may hand over: a slice with an offset, nulls, several chunks."""

    def normalised_entropy(*columns: object) -> pa.Array:
        return call(functions()["normalised_entropy"], *columns)

    lists = pa.array([[9.0], [0.5, 0.5], None, [], [1.0]], pa.list_(pa.float64()))
    classes = pa.array([2, 2, 2, 2, 2])
    expected = [1.0, None, None]
    assert normalised_entropy(lists.slice(1, 3), classes.slice(1, 3)).to_pylist() == expected
    chunked = pa.chunked_array([lists.slice(1, 2), lists.slice(3, 1)])
    assert normalised_entropy(chunked, pa.chunked_array([classes.slice(0, 3)])).to_pylist() == expected
    nothing = pa.chunked_array([lists.slice(0, 0)])
    assert normalised_entropy(nothing, pa.chunked_array([classes.slice(0, 0)])).to_pylist() == []


class Ends(NamedTuple):
    """The ends of an interval."""

    low: float
    high: float


def test_no_figure_is_a_negative_zero() -> None:
    assert str(null_for_nan([-0.0, 0.0, float("nan")]).to_pylist()) == "[0.0, 0.0, None]"
    assert str(encoded([[Ends(-0.0, float("nan"))]], list[Ends]).to_pylist()) == "[[{'low': 0.0, 'high': None}]]"


def test_an_array_is_one_by_an_alias_too() -> None:
    """From numpy 2.5 on Python 3.12 and later `NDArray` is such an alias."""
    scalar = TypeVar("scalar", bound=np.generic)
    alias = TypeAliasType("alias", np.ndarray[Any, np.dtype[scalar]], type_params=(scalar,))
    assert is_array(alias[np.float64])
    assert is_array(alias[np.float64] | None)
    assert element(alias[np.int64]) is np.int64
    assert sql_type(Annotated[alias[np.bool_], None]) == sql_type(NDArray[np.bool_]) == "BOOLEAN[]"
