defmodule Mote.Measure.TableTest do
  # Tables: writing and reading gives the same, mistakes are named, summaries are those of the runs.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.Measure.Table

  defp cells do
    texts =
      one_of([
        string(:printable, max_length: 8),
        string([?,, ?", ?\n, ?\r, ?\t, ?1, ?., ?a, ?\s], max_length: 6)
      ])

    one_of([integer(), float(), texts, member_of(["1", "-2.5", "1e5", "", "nil", "single"]), constant(nil)])
  end

  property "what is written as CSV is read again as it was" do
    check all(
            columns <-
              uniq_list_of(string(:printable, min_length: 1, max_length: 6), min_length: 1, max_length: 4),
            rows <- list_of(list_of(cells(), length: length(columns)), max_length: 6),
            max_runs: 200
          ) do
      table = Table.new(columns, rows)
      assert Table.from_csv(Table.to_csv(table)) == {:ok, table}
    end
  end

  test "CSV has quotes where they are needed, TSV tabs" do
    table =
      Table.new([:param, :sponsor, :value], [[5, :single, 1.5], [6, "a,b", nil], [7, "say \"hi\"", "12"]])

    assert Table.to_csv(table) == """
           param,sponsor,value
           5,single,1.5
           6,"a,b",
           7,"say ""hi""\","12"
           """

    assert Table.to_tsv(table) ==
             "param\tsponsor\tvalue\n5\tsingle\t1.5\n6\ta,b\t\n7\t\"say \"\"hi\"\"\"\t\"12\"\n"
  end

  test "CSV of others may have other ends of lines, or none" do
    assert {:ok, table} = Table.from_csv("n,name\r\n1,\"two\r\nlines\"\r\n2,x")
    assert table == Table.new([:n, :name], [[1, "two\r\nlines"], [2, "x"]])
    assert {:ok, %Table{rows: [[nil, nil]]}} = Table.from_csv("a,b\n,")
  end

  test "what is no table is refused, with the line" do
    for {text, message} <- [
          {"", "a table begins with the names of its columns, this one is empty"},
          {"a,b\n1,2\n3\n", "line 3: expected 2 cells, got 1"},
          {"a\n\"1\n2", "line 2: a quoted cell does not end"},
          {"a\n\"1\"2\n", "line 2: something stands behind a quoted cell"},
          {"a,a\n", "columns must have different names, got: a, a"},
          {"a,,b\n", "line 1: a column needs a name"},
          {"1,2\n", "line 1: a column needs a name"}
        ] do
      assert Table.from_csv(text) == {:error, message}
      assert_raise ArgumentError, message, fn -> Table.from_csv!(text) end
    end
  end

  test "mistakes in making and asking are explained" do
    table = Table.new([:n, :value], [[1, 2.0]])

    for {message, fun} <- [
          {"the table has no column :speed, but n, value", fn -> Table.column(table, :speed) end},
          {"the table has no column :speed, but n, value", fn -> Table.filter(table, speed: 1) end},
          {"the table has no column :value, but n", fn -> Table.summary(Table.new([:n], [[1]])) end},
          {"expected rows of 2 cells, got: [1]", fn -> Table.new([:a, :b], [[1]]) end},
          {"a cell is a number, a text, an atom or nil, got: {1}", fn -> Table.new([:a], [[{1}]]) end}
        ] do
      assert_raise ArgumentError, message, fun
    end
  end

  test "a summary has one row for all runs of one thing" do
    rows =
      for {n, sponsor, values} <- [{5, :single, [3, 1, 2]}, {5, :multi, [4.0, 8.0]}, {6, :single, [nil]}],
          {value, run} <- Enum.with_index(values, 1),
          do: [n, sponsor, run, value]

    summary = Table.summary(Table.new([:n, :sponsor, :run, :value], rows, title: "t", unit: "ns"))
    assert summary.columns == ~w(n sponsor runs median min max mad)
    assert summary.rows == [[5, "single", 3, 2, 1, 3, 1], [5, "multi", 2, 6.0, 4.0, 8.0, 2.0]]
    assert summary.title == "t" and summary.unit == "ns"
  end

  test "inspect shows the first rows, and how many there are" do
    table = Table.new([:n, :name], for(n <- 1..60, do: [n * 1_000, :x]), title: "many", unit: "ns")
    text = inspect(table, limit: 50)
    assert text =~ "#Mote.Measure.Table<\n  many (ns)\n\n       n  name\n   1,000  x\n"
    assert text =~ "  50,000  x\n  … 10 more rows\n>"
    assert inspect(table, limit: :infinity) =~ "  60,000  x\n>"
    assert inspect(Table.new([:a], [])) == "#Mote.Measure.Table<\n  a\n>"
  end
end
