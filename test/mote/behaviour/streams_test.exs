defmodule Mote.Behaviour.StreamsTest do
  # Sources that are made while they are read: streams, and structs with an `Enumerable` of their own. What goes through them on machines
  # of both tiers has the values of Elixir, and takes no more of them than Elixir does.
  use ExUnit.Case, async: true

  @moduletag :capture_log

  # Expressions of `x`. Whatever does not end where more is taken than is needed.
  @calls [
    "x |> Stream.map(&(&1 * 2)) |> Stream.filter(&(rem(&1, 3) == 0)) |> Enum.to_list()",
    "Enum.take(Stream.cycle(x), 7)",
    "Enum.take(Stream.cycle(x), 0)",
    "Enum.take(Stream.map(x, & &1), -2)",
    "Enum.at(Stream.iterate(1, &(&1 * 2)), 70)",
    "{Enum.at(Stream.cycle(x), 8, :no), Enum.fetch(Stream.take(x, 1), 1), Enum.fetch!(Stream.cycle(x), 1)}",
    "{Enum.empty?(Stream.cycle(x)), Enum.empty?(Stream.take(x, 0))}",
    "Enum.find(Stream.iterate(1, &(&1 + 1)), &(&1 * &1 > 300))",
    "{Enum.any?(Stream.cycle(x), &(&1 == 3)), Enum.all?(Stream.cycle(x), &(&1 < 3))}",
    "Enum.find_index(Stream.cycle(x), &(&1 == 3))",
    "Enum.find_value(Stream.cycle(x), &(&1 > 2 && {:found, &1}))",
    "Enum.take_while(Stream.iterate(1, &(&1 * 3)), &(&1 < 1000))",
    "Enum.reduce_while(Stream.cycle(x), 0, fn y, acc -> if acc > 50, do: {:halt, acc}, else: {:cont, acc + y} end)",
    "Enum.count_until(Stream.cycle(x), 5)",
    "Enum.zip(x, Stream.iterate(0, &(&1 + 1)))",
    "Enum.zip([Stream.cycle([:a, :b]), x, 1..9])",
    "Enum.chunk_every(x, 2, 2, Stream.cycle([0]))",
    "Enum.concat([Stream.map(x, &{&1}), x, 1..2])",
    "for y <- Stream.with_index(x), {a, i} = y, do: a - i",
    "for y <- Stream.uniq(x), into: %{}, do: {y, Enum.sum(Stream.take(x, y))}",
    "x |> Stream.transform(0, fn y, acc -> if acc < 3, do: {[y, acc], acc + 1}, else: {:halt, acc} end) |> Enum.map(& &1)",
    "Stream.unfold(5, fn 0 -> nil; n -> {n, n - 1} end) |> Enum.sort()",
    "Enum.reduce(Stream.zip(x, Stream.drop(x, 1)), 0, fn {a, b}, acc -> acc + a * b end)",
    "x |> Stream.chunk_every(2) |> Enum.map_join(\";\", &inspect/1)",
    "Stream.resource(fn -> x end, fn [] -> {:halt, []}; [y | ys] -> {[y, y], ys} end, fn _ -> :ok end) |> Enum.group_by(&rem(&1, 2))",
    "{3 in Stream.map(x, & &1), Enum.member?(Stream.take(x, 1), 1), Map.new(Stream.map(x, &{&1, 1}))}",
    "MapSet.new(Stream.map(x, &rem(&1, 2)))",
    "Enum.to_list(Stream.into(x, MapSet.new([1]))) ++ Enum.to_list(Enum.into(Stream.map(x, &(&1 * 2)), MapSet.new([8])))",
    "Enum.reverse(Stream.dedup(x)) ++ Enum.uniq(Stream.concat(x, x))",
    "Enum.slice(Stream.map(x, & &1), 1..2)",
    "Enum.into(Stream.map(x, &{&1, &1}), %{a: 1})",
    "x |> Stream.into(%{}, &{&1, 1}) |> Stream.run()",
    "Enum.max(Stream.map(x, & &1)) + Enum.count(Stream.map(x, & &1))",
    "Date.range(~D[2024-02-27], ~D[2024-03-02]) |> Enum.map(& &1.day)",
    "for d <- Date.range(~D[2024-02-27], ~D[2024-03-02], 2), do: d.day",
    "Enum.map(%Tree{left: %Tree{value: 1}, value: 2, right: %Tree{value: 3}}, &(&1 + hd(x)))",
    "Enum.take(%Tree{left: %Tree{value: 1}, value: 2}, 1) ++ Enum.to_list(Stream.map(%Tree{value: 7}, &(&1 * 2)))",
    "Tree.again(x)",
    "Tree.at_the_end(x)",
    "Tree.other(x)",
    # What is no such source.
    "Enum.map(x, & &1)",
    "Enum.sum(1..10) + Enum.count(%{a: 1}) + hd(x)",
    "Enum.take(hd(x), 2)",
    "Enum.to_list(fn y -> y end)",
    "for(y <- length(x), do: y)"
  ]

  setup_all do
    functions = for {call, i} <- Enum.with_index(@calls), do: "defpure f#{i}(x), do: #{call}\n"
    clauses = for {_, i} <- Enum.with_index(@calls), do: "{customer, {#{i}, x}} -> send customer, f#{i}(x)\n"

    source = """
    defmodule Mote.StreamsTest.Sources do
      use Mote.Behaviour, import: [Stream, Date.Range, Mote.Imported.Tree]
      alias Mote.Imported.Tree
      #{functions}
      defactor calls() do
        #{clauses}
        {customer, {:keep, x}} -> send customer, Stream.map(x, &(&1 + 1))
        {customer, {:told, stream}} -> Enum.each(stream, &send(customer, &1))
      end
    end
    """

    {[{module, _}], _} =
      ExUnit.CaptureIO.with_io(:stderr, fn -> Code.compile_string(source, "streams.ex") end)

    %{streams: module}
  end

  for tier <- [:interp, :native] do
    test "are gone through as in Elixir: #{tier}", %{streams: module} do
      machine = start_supervised!({Mote, tier: unquote(tier)})
      actor = Mote.create(machine, module.calls())

      for {call, i} <- Enum.with_index(@calls),
          x <- [[1, 2, 3], [3, 2, 2, 1], []],
          call =~ "cycle" == false or x != [] do
        expected = outcome(fn -> apply(module, :"f#{i}", [x]) end)
        assert {call, x, outcome(Mote.ask(actor, {i, x}))} === {call, x, expected}
      end

      # A stream is a value, and goes from turn to turn; and what is done for each may have effects.
      stream = Mote.ask!(actor, {:keep, [1, 2]})
      Mote.send(actor, {self(), {:told, stream}})
      assert_receive 2
      assert_receive 3
    end
  end

  defp outcome(fun) when is_function(fun) do
    {:value, fun.()}
  rescue
    exception -> {:raised, exception.__struct__}
  end

  defp outcome({:ok, value}), do: {:value, value}
  defp outcome({:error, error}), do: {:raised, Mote.Raised.exception(error.context.reason).__struct__}

  test "what never ends is ended by its fuel", %{streams: module} do
    machine = start_supervised!({Mote, fuel: 100_000})
    actor = Mote.create(machine, module.calls())
    i = Enum.find_index(@calls, &(&1 =~ "Enum.find_index"))
    assert {:error, %{reason: :aborted, context: %{reason: :fuel}}} = Mote.ask(actor, {i, [1]})
  end

  test "Stream is refused where nobody names it" do
    told = "name it, use Mote.Behaviour, import: [Stream]"
    assert Mote.Compile.error("defpure f(x), do: Stream.map(x, & &1)") =~ told
  end
end
