defmodule Mote.Behaviour.ProgramsTest do
  # Random programs: Elixir with the program's own source, the IR, the interpreter and native code must agree about everything
  # that can be seen. Where errors are `:undefined` Elixir is not asked, which has such answers of Kernel's operators alone; and
  # what fuel ends is compared of machines only.
  #
  # `MOTE_LONG=1` for 20,000 of them. A program costs a tenth of a second of a core, nearly all of it in compilers, Elixir's
  # and that of native code. So the long run is made of chapters, each with a seed of its own; as many at once as
  # occupy the cores, each with machines of its own, for machines keep the code of all that they have run.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Disassemble, Generators}
  alias Mote.Behaviour.Primitives

  @moduletag timeout: :infinity, capture_log: true

  # With little fuel many turns end in the middle.
  @fuel 10_000_000
  @fuels [@fuel, 25]

  @counters [:turns, :sends, :creates, :becomes, :ignored, :dropped]
  @aborts %{
    aborts_explicit: [:abort],
    aborts_match: [:badmatch, :case_clause, :cond_clause, :function_clause],
    aborts_raised: [:raised],
    aborts_crashed: [:crashed]
  }

  @limits [:aborts_fuel, :aborts_stack, :aborts_no_memory]

  # Programs of one seed, of sizes from one to that. The small ones and the large ones are made at the same time.
  @chapter 500
  # The smallest and the largest of them.
  @usual 200

  @tag skip: Generators.unfit()
  property "plain Elixir, IR, the machine and its beam sponsors do the same" do
    worth = start_supervised!({Agent, fn -> {MapSet.new(), %{}} end})
    first = ExUnit.configuration()[:seed]
    began = System.monotonic_time(:second)

    runs()
    |> chapters(first)
    |> Task.async_stream(fn {seed, from, n} -> told(seed, fn -> half(seed, from, n, worth) end) end,
      # One more than there are cores: each waits for the compilers of its machines at times.
      max_concurrency: System.schedulers_online() + 1,
      timeout: :infinity,
      ordered: false
    )
    |> Enum.reduce(0, fn
      {:ok, {exception, stacktrace}}, _ -> reraise exception, stacktrace
      {:ok, n}, agree -> tell(agree + n, began)
    end)

    # Fewer would be chance.
    if runs() >= @usual, do: assert_worth(worth, first)
  end

  defp chapters(0, _seed), do: []

  defp chapters(runs, seed) do
    n = min(runs, @chapter)
    half = div(n, 2)
    [{seed, 1, half}, {seed, @chapter - half + 1, half} | chapters(runs - n, seed + 1)]
  end

  # What failed, for the process of the test to raise.
  defp told(seed, fun) do
    fun.()
  rescue
    exception ->
      if runs() > @chapter, do: IO.puts("what fails is the first to fail with MOTE_LONG=1 and --seed #{seed}")
      {exception, __STACKTRACE__}
  end

  # A run that ended can be told from one that was ended.
  defp tell(agree, began) do
    if runs() > @chapter,
      do: IO.puts("#{agree} of #{runs()} programs agree, #{System.monotonic_time(:second) - began} s")

    agree
  end

  # `n` programs of the sizes that begin with `from`.
  defp half(seed, from, n, worth) do
    machines =
      for fuel <- @fuels, tier <- [:interp, :native] do
        {:ok, machine} = Mote.start_link(fuel: fuel, tier: tier)
        {:ok, native} = Generators.load(machine, Generators.Starter)
        {fuel, native.tier, machine}
      end ++
        for sponsors <- [[io: [beam: true, max_concurrency: 1]]] do
          # One turn after the other: so its order is that of a single thread. Its turns run in the BEAM: native code
          # would be compiled for nobody.
          {:ok, machine} = Mote.start_link(sponsors: sponsors, tier: :interp)
          {:ok, _native} = Generators.load(machine, Generators.Starter)
          {@fuel, :beam, machine}
        end

    check all(program <- Generators.program(), max_runs: n, initial_size: from, initial_seed: seed + from - 1) do
      Generators.with_module(program, fn module ->
        # Native code is made beside what follows.
        for {_, _, machine} <- machines, do: :ok = Mote.load(machine, module)
        assert Disassemble.breaches(module) == []
        Agent.update(worth, fn {done, ends} -> {MapSet.union(done, did(module)), ends} end)

        code = Generators.run_reference(program, module, turn: &Mote.Interpret.turn/3)
        assert code.finished
        Agent.update(worth, fn {done, ends} -> {done, Map.merge(ends, code.counters.aborts)} end)
        if Generators.comparable?(code), do: agree(program, module, code, machines)
      end)
    end

    for {_, _, machine} <- machines, do: Mote.stop(machine)
    n
  end

  defp agree(program, module, code, machines) do
    seen =
      for {fuel, tier, machine} <- machines, tier != :beam do
        {:ok, native} = Generators.load(machine, module)
        assert native.refused == 0
        seen = Generators.run_machine(program, module, machine)
        # Of calls of the library that fail, the interpreter tells.
        assert tier == :interp or seen.counters.interpreted <= seen.counters.aborts_raised
        {fuel, Map.update!(seen, :counters, &Map.take(&1, @counters ++ @limits ++ Map.keys(@aborts)))}
      end

    for {_, [interp, native]} <- Enum.group_by(seen, &elem(&1, 0), &elem(&1, 1)), do: assert(interp == native)
    {@fuel, interp} = List.keyfind(seen, @fuel, 0)

    unless interp.limited do
      assert_alike(interp, code)
      # From OTP 26 on, the BEAM has atoms in another order in maps.
      if program.errors == :abort and System.otp_release() < "26",
        do: elixir_agrees(program, module, interp, machines)
    end
  end

  defp elixir_agrees(program, module, seen, machines) do
    plain = Generators.run_reference(program, module, [])
    assert plain.finished
    assert plain.outside == seen.outside
    assert_counts(seen.counters, plain)
    {_, _, machine} = List.keyfind(machines, :beam, 1)
    assert_alike(Generators.run_machine(program, module, machine), plain)
  end

  defp assert_alike(seen, run) do
    assert seen.outside == run.outside
    assert_counts(seen.counters, run)
    assert Map.take(seen.counters, Map.keys(@aborts)) == aborts(run.counters.aborts)
  end

  # The sum of the aborts: which exception it was, the forms tell in their own ways.
  defp assert_counts(counters, run) do
    assert Map.take(counters, @counters) == Map.take(run.counters, @counters)

    assert Enum.sum(Map.values(run.counters.aborts)) ==
             Enum.sum(for key <- Map.keys(@aborts), do: counters[key])
  end

  defp runs do
    cond do
      Mote.Long.long?() -> 20_000
      # Each of them takes a second.
      System.get_env("MOTE_GC_STRESS", "0") != "0" -> 50
      true -> @usual
    end
  end

  defp aborts(reasons) do
    Map.new(@aborts, fn {counter, names} ->
      {counter, names |> Enum.map(&Map.get(reasons, &1, 0)) |> Enum.sum()}
    end)
  end

  # Sponsors are not the programs' business, chance would make no two runs alike, and patterns of binaries have tests of
  # their own, as has what texts are searched and joined with.
  @elsewhere [
    :on,
    :now,
    :random,
    :random_int,
    :bin_int,
    :bin_float,
    :bin_slice,
    :bin_rest,
    :bin_bits,
    :bin_tail,
    :bin_utf8,
    :utf8_bits,
    :binary_find,
    :binary_join,
    :text_run,
    :text_changed,
    :binary_list,
    :binary_split,
    :carried_text,
    :regex_run,
    :regex_names
  ]

  # Some more programs, where what is rare has not occurred by chance, and how often.
  @some 50
  @more 16

  # What the programs are worth: all that code can do occurs, and turns end in every way.
  defp assert_worth(worth, seed, more \\ @more) do
    case missing(Agent.get(worth, & &1)) do
      {[], []} ->
        :ok

      missing when more == 0 ->
        assert missing == {[], []}

      _ ->
        half(seed + more * 1_000_000, div(@chapter, 2), @some, worth)
        assert_worth(worth, seed, more - 1)
    end
  end

  defp missing({done, ends}) do
    primitives = for %{name: name} <- Primitives.all(), name not in @elsewhere, do: name

    words =
      [:move, :tuple, :cons, :self, :call, :tail_call, :return, :jump, :branch, :falsy, :match, :match_tuple] ++
        [:match_cons, :create, :send, :become, :become_sink, :abort, :done, :ignore, :guard]

    {(primitives ++ words) -- MapSet.to_list(done),
     Enum.reject([:abort, :badmatch, :function_clause, :raised], &is_map_key(ends, &1))}
  end

  defp did(module) do
    unit = Disassemble.unit(module.__mote__(:unit))
    for %{code: code} <- unit.functions ++ unit.behaviours, i <- code, into: MapSet.new(), do: word(i)
  end

  defp word({:op, _, primitive, _}), do: primitive
  defp word({:guard_op, _, _, _, _}), do: :guard
  defp word(instruction), do: elem(instruction, 0)
end
