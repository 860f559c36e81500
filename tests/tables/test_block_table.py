"""Tables that are read in blocks: sources, division into blocks and parts, damaged files."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from bneuralt import BNeuralTRegressor, open_table
from bneuralt.tables.block_table import read_ahead
from bneuralt.tables.csv_files import TableError
from tests.helpers.block_tables import LITTLE, sales, write_parts

SALES = sales()


def all_rows(table):
    """Return all rows of a table, read block by block, as one frame of pandas."""
    parts = []
    for block in table.blocks():
        frame = block.frame.as_data_frame()
        parts.append(frame if isinstance(frame, pd.DataFrame) else to_pandas(frame))
    return pd.concat(parts, ignore_index=True)


def to_pandas(frame):
    return frame.to_pandas()


def assert_same_values(rows, frame=SALES):
    for name in frame.columns:
        expected, values = frame[name], rows[name]
        if name == "sold":
            values = pd.to_datetime(values)
        assert values.isna().tolist() == expected.isna().tolist()
        assert values.dropna().tolist() == expected.dropna().tolist(), name


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv", "csv.gz", "csv.bz2", "csv.xz"])
def test_files_of_all_formats_give_their_rows(tmp_path, ending):
    pattern = write_parts(SALES, tmp_path, ending=ending)
    table = open_table(pattern, "price", max_memory=LITTLE)
    assert len(list(table.blocks())) > 3
    assert_same_values(all_rows(table))
    assert_same_values(all_rows(open_table(tmp_path, "price", max_memory=LITTLE)))


def test_a_dataset_of_arrow_and_frames_give_their_rows(tmp_path):
    pl = pytest.importorskip("polars")
    write_parts(SALES, tmp_path)
    sources = [
        ds.dataset(tmp_path),
        [SALES[:1000], SALES[1000:]],
        [pl.from_pandas(SALES[:1000]), pl.from_pandas(SALES[1000:])],
        [pa.Table.from_pandas(SALES)],
        pa.Table.from_pandas(SALES),
        SALES,
    ]
    for source in sources:
        table = open_table(source, "price", max_memory=LITTLE)
        assert len(list(table.blocks())) > 1
        assert_same_values(all_rows(table))


def test_a_dataset_with_a_folder_for_each_value_has_that_column(tmp_path):
    parts = ds.partitioning(pa.schema([("shop", pa.string())]), flavor="hive")
    frame = SALES.dropna()
    ds.write_dataset(
        pa.Table.from_pandas(frame, preserve_index=False), tmp_path, format="parquet",
        partitioning=parts,
    )  # fmt: skip
    table = open_table(ds.dataset(tmp_path, partitioning="hive"), "price", max_memory=LITTLE)
    assert sorted(all_rows(table)["shop"]) == sorted(frame["shop"])


def test_blocks_are_smaller_with_less_memory(tmp_path):
    pattern = write_parts(SALES, tmp_path)
    sizes = {
        memory: max(len(block.frame) for block in open_table(pattern, max_memory=memory).blocks())
        for memory in ("1.1MB", "1.5MB", "4MB")
    }
    assert sizes["1.1MB"] < sizes["1.5MB"] < sizes["4MB"]
    assert open_table(pattern, max_memory="1.1MB").whole() is None
    assert len(open_table(pattern, max_memory="1GB").whole().frame) == len(SALES)


def test_parts_have_each_row_once_whatever_the_blocks_are(tmp_path):
    pattern = write_parts(SALES, tmp_path)
    held_out = []
    for memory in (LITTLE, "1GB"):
        train, test = open_table(pattern, "price", max_memory=memory).split(0.3, seed=5)
        rows = all_rows(test)
        held_out.append(rows)
        assert len(rows) == pytest.approx(0.3 * len(SALES), rel=0.1)
        both = pd.concat([all_rows(train), rows])
        assert sorted(both["size"]) == sorted(SALES["size"])
    pd.testing.assert_frame_equal(*held_out)
    other = open_table(pattern, "price").split(0.3, seed=6)[1]
    assert set(all_rows(other)["size"]) != set(held_out[0]["size"])
    with pytest.raises(ValueError, match=r"fraction=1.5"):
        open_table(pattern).split(1.5)


def test_head_and_choice_of_columns():
    table = open_table([SALES[:10], SALES[10:]], "price")
    pd.testing.assert_frame_equal(table.head(20)[SALES.columns[:5].tolist()], SALES.iloc[:20, :5])
    assert table.without(["kind"]).names == ("size", "age", "shop", "sold", "rooms")
    assert table.select(["shop", "size"]).head(3).columns.tolist() == ["shop", "size", "price"]
    with pytest.raises(ValueError, match=r"no column 'shopp'. Did you mean 'shop'"):
        table.without(["shopp"])


@pytest.mark.parametrize(
    ("memory", "size"), [("64MB", 64_000_000), ("1.5 GiB", 3 * 2**29), (2**25, 2**25)]
)
def test_memory_is_a_number_or_a_text(memory, size):
    assert open_table([SALES], max_memory=memory).max_memory == size


@pytest.mark.parametrize("memory", ["1 KB", "much", 5, True, -1, None, "1iB"])
def test_other_memory_is_refused(memory):
    with pytest.raises(ValueError, match=r"max_memory"):
        open_table([SALES], max_memory=memory)


def test_a_column_in_another_order_is_found(tmp_path):
    write_parts(SALES, tmp_path)
    SALES[SALES.columns[::-1]].to_parquet(tmp_path / "part1.parquet")
    rows = all_rows(open_table(tmp_path, "price", max_memory=LITTLE))
    assert len(rows) == len(SALES) * 5 // 3
    assert rows["size"].dtype == np.float64


def test_whole_numbers_and_numbers_with_gaps_are_one_kind(tmp_path):
    write_parts(SALES, tmp_path)
    part = pd.read_parquet(tmp_path / "part1.parquet")
    part["rooms"] = part["rooms"].astype(np.float64).where(part["rooms"] > 1)
    part["age"] = None  # a column without a type
    part.to_parquet(tmp_path / "part1.parquet")
    rows = all_rows(open_table(tmp_path, "price", max_memory=LITTLE))
    assert rows["rooms"].isna().sum() == (part["rooms"].isna()).sum()
    assert len(open_table(tmp_path, "price").whole().frame) == len(SALES)


# -- bad input ----------------------------------------------------------------------------


def damaged(tmp_path, change):
    """Write a folder whose second file is another one, and return the message of `open_table`."""
    write_parts(SALES, tmp_path)
    path = tmp_path / "part1.parquet"
    change(pd.read_parquet(path)).to_parquet(path)
    with pytest.raises(TableError) as error:
        for _ in open_table(tmp_path, "price").blocks():
            pass
    assert "part1.parquet" in str(error.value)
    return str(error.value)


def test_another_type_is_named_with_file_and_column(tmp_path):
    text = damaged(tmp_path, lambda part: part.assign(rooms=part["rooms"].astype(str) + " rooms"))
    assert "'rooms' has text" in text and "numbers (int64)" in text


def test_a_missing_or_additional_column_is_named(tmp_path):
    assert "no column 'rooms'" in damaged(tmp_path, lambda part: part.drop(columns="rooms"))
    assert "no column 'more'" in damaged(tmp_path, lambda part: part.assign(more=1.0))
    assert "no column 'price'" in damaged(tmp_path, lambda part: part.drop(columns="price"))


@pytest.mark.parametrize("ending", ["parquet", "feather", "csv.gz"])
def test_a_file_that_ends_early_is_named(tmp_path, ending):
    pattern = write_parts(SALES, tmp_path, ending=ending)
    path = tmp_path / f"part2.{ending}"
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(TableError, match=f"part2.{ending}: cannot be (read|decompressed)"):
        list(open_table(pattern, "price").blocks())


def test_a_file_that_is_damaged_inside_is_named(tmp_path):
    pattern = write_parts(SALES, tmp_path)
    path = tmp_path / "part2.parquet"
    data = bytearray(path.read_bytes())
    data[4:3000] = b"\xff" * 2996
    path.write_bytes(data)
    with pytest.raises(TableError, match=r"part2.parquet: cannot be read"):
        list(open_table(pattern, "price").blocks())


def test_empty_files_and_partitions_have_no_rows(tmp_path):
    write_parts(SALES, tmp_path)
    SALES[:0].to_parquet(tmp_path / "part9.parquet")
    (tmp_path / "part8.csv").touch()
    (tmp_path / "_SUCCESS").touch()
    assert_same_values(all_rows(open_table(tmp_path, "price", max_memory=LITTLE)))
    for source in ([SALES[:0], SALES], [SALES, SALES[:0]]):
        assert_same_values(all_rows(open_table(source, "price")))
    with pytest.raises(ValueError, match=r"no rows"):
        list(open_table([SALES[:0]]).blocks())


def test_numbers_of_a_csv_file_are_texts_if_a_later_row_or_file_needs_it(tmp_path):
    rows = [f"{'1.50' if i % 2 else i % 7},{i}\n" for i in range(60_000)]
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(rows) + "1.5,2\na,3\nb,3\nc,3\nd,3\n")
    (tmp_path / "b.csv").write_text("x,y\n7,8\n")
    blocks = open_table(tmp_path, "y", max_memory=LITTLE)
    assert len(list(blocks.blocks())) > 3
    models = []
    for table in (blocks, open_table(tmp_path, "y")):
        with pytest.warns(UserWarning, match="numbers and texts are read as categories"):
            models.append(BNeuralTRegressor(max_epochs=1, random_state=0).fit(table))
    categories = [model.encoder_.features[0].categories for model in models]
    assert categories[0] == categories[1] and "1.50" in categories[0]


def test_a_csv_file_without_names_or_of_other_bytes(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    assert open_table(tmp_path / "a.csv").names == ("column1", "column2")
    (tmp_path / "a.csv").write_bytes(b"\x00\x01\x02" * 100)
    with pytest.raises(TableError, match=r"not a text file"):
        open_table(tmp_path / "a.csv")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress("größe;y\n1;2\n".encode("latin-1")))
    assert open_table(tmp_path / "a.csv.gz").names == ("größe", "y")


def test_what_is_no_source_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"x\*.csv: no file matches"):
        open_table(str(tmp_path / "x*.csv"))
    with pytest.raises(FileNotFoundError, match=r"the folder has no Parquet"):
        open_table(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"no such file"):
        open_table(tmp_path / "a.parquet")
    with pytest.raises(TypeError, match=r"read only once"):
        open_table(frame for frame in [SALES])
    with pytest.raises(TypeError, match=r"source is a float"):
        open_table(1.5)
    with pytest.raises(TypeError, match=r"as its frame 0"):
        open_table([[1, 2]])
    with pytest.raises(ValueError, match=r"no frames"):
        open_table([pd.DataFrame()][:0] or iter_again())
    with pytest.raises(ValueError, match=r"no column 'prize'. Did you mean 'price'"):
        open_table([SALES], "prize")
    with pytest.raises(ValueError, match=r"frame 1 has no column 'rooms'"):
        list(open_table([SALES, SALES.drop(columns="rooms")]).blocks())


def iter_again():
    class Nothing:
        def __iter__(self):
            return iter(())

    return Nothing()


def test_reading_ahead_ends_with_its_consumer_and_passes_errors_on():
    made = []

    def items():
        for i in range(1000):
            made.append(i)
            yield i

    for i in read_ahead(items()):
        if i == 3:
            break
    assert len(made) < 10

    def failing():
        yield 1
        raise KeyError("lost")

    with pytest.raises(KeyError, match=r"lost"):
        list(read_ahead(failing()))
