defmodule Mote.Native.ExplanationTest do
  use ExUnit.Case, async: true

  defmodule Numbers do
    use Mote.Behaviour

    defpure float_first(i, n, s) when i > n, do: s
    defpure float_first(i, n, s), do: float_first(i + 1, n, s + i * 0.25)

    defpure integer_first(i, n, s) when i > n, do: s

    defpure integer_first(i, n, s) do
      j = i + 1
      integer_first(j, n, s + i * 0.25)
    end

    defpure range(n), do: Enum.reduce(1..n, 0.5, fn i, s -> s * 0.5 + i * 0.25 end)
    defpure sum(list), do: Enum.reduce(list, 0, fn x, s -> s + x end)

    defpure scaled(0, _by, s), do: s
    defpure scaled(n, by, s), do: scaled(n - 1, by, s + by * (s * 0.5))

    defpure look(map, key) do
      found = Map.get(map, key, 0)

      {found, key}
    end

    defactor double() do
      {customer, x} -> send(customer, x + 1)
    end

    defactor half() do
      {customer, x} -> send(customer, x * 0.5)
    end
  end

  defp notes(name) do
    for %{in: {in_name, _}, line: line, operation: operation, note: note} <- Mote.Native.explain(Numbers),
        in_name |> Atom.to_string() |> String.starts_with?("#{name}/") or in_name == name,
        do: {line, operation, note}
  end

  # The first line of this file with that text.
  defp line(text) do
    lines = __ENV__.file |> File.read!() |> String.split("\n")
    1 + Enum.find_index(lines, &String.contains?(&1, text))
  end

  test "a loop over integers and floats is in line, whichever of them comes first" do
    assert notes(:float_first) == []
    assert notes(:integer_first) == []
  end

  test "so is a range whose end may be anything, once it is known to be an integer" do
    assert Enum.filter(notes(:range), fn {_, _, note} -> note == :asks end) == []
    assert {line("Enum.reduce(1..n"), :mul, :finds_out} not in notes(:range)
  end

  test "what is only found out when it is there" do
    assert {line("Enum.reduce(list"), :add, :finds_out} in notes(:sum)
  end

  test "a parameter of a loop that is taken for a float, as nobody says what it is" do
    assert notes(:scaled) == [{line("defpure scaled(0"), {:parameter, :by}, :takes_for_float}]
  end

  test "what is asked of a helper, at its own line" do
    assert notes(:look) == [{line("Map.get(map, key, 0)"), :map_get, :asks}]
  end

  test "what is taken for a number of one kind" do
    assert notes(:double) == [{line("x + 1"), :add, :takes_for_integer}]
    assert notes(:half) == [{line("x * 0.5"), :mul, :takes_for_float}]
  end

  test "a module without behaviours" do
    assert_raise ArgumentError, ~r/Enum is no module with behaviours/, fn -> Mote.Native.explain(Enum) end
  end
end
