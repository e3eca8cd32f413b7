defmodule Mote.Values.ZerosTest do
  # 0.0 and -0.0 are one term for older releases of OTP and two since OTP 27. A machine does what its node does, on both
  # tiers, and so do the reference and the plain Elixir code of a behaviour: the same source in all of them.
  use ExUnit.Case, async: true
  use ExUnitProperties

  alias Mote.{Generators, Reference}

  # Of two terms `a` and `b`.
  @sources [
    operators: "{a == b, a != b, a === b, a !== b, a < b, a <= b, a > b, a >= b}",
    choices: "{max(a, b), min(a, b)}",
    lists: "{a in [b, 1], [a, 2] -- [b]}",
    keys: "{map_size(%{a => 1, b => 2}), Map.get(%{a => 1}, b), Map.has_key?(%{b => 2, 0 => 1}, a)}",
    twice: "case {a, b} do {x, x} -> :same; _ -> :different end",
    pinned: "case b do ^a -> :same; %{^a => value} -> {:key, value}; _ -> :other end",
    term:
      "case a do +0.0 -> :plus; -0.0 -> :minus; {-0.0, _} -> :in_tuple; [+0.0 | _] -> :in_list; _ -> :other end",
    map:
      "case a do %{+0.0 => v} -> {:plus, v}; %{-0.0 => v} -> {:minus, v}; %{a: -0.0} -> :in_map; _ -> :other end",
    binary:
      "case a do <<-0.0::float, _::binary>> -> :minus; <<+0.0::float, _::binary>> -> :plus; _ -> :other end",
    guard: "case a do x when x === -0.0 -> {:minus, x}; x when x == 0.0 -> {:zero, x}; _ -> :other end",
    literals: "{a === +0.0, -0.0 === a, a !== -0.0, a == 0.0, a in [1, -0.0], a < 0.0, 0.0 <= a}",
    made:
      "case is_float(a) and is_float(b) do true -> {a * 1.0 === b * 1.0, a * b == 0.0, a * b === -0.0}; _ -> 0 end"
  ]

  defmodule Behaviours do
    use Mote.Behaviour, errors: :undefined

    for {name, source} <- Module.get_attribute(Mote.Values.ZerosTest, :sources) do
      defpure unquote(:"of_#{name}")(a, b) do
        _ = {a, b}
        unquote(Code.string_to_quoted!(source))
      end

      defactor unquote(:"ask_#{name}")() do
        {customer, {a, b}} -> send customer, unquote(:"of_#{name}")(a, b)
      end
    end
  end

  defmodule Plain do
    # Where there is one zero only, the second of two clauses never matches.
    generated = fn node -> Macro.update_meta(node, &([generated: true] ++ &1)) end

    for {name, source} <- Module.get_attribute(Mote.Values.ZerosTest, :sources) do
      def unquote(:"of_#{name}")(a, b) do
        _ = {a, b}
        unquote(source |> Code.string_to_quoted!() |> Macro.prewalk(generated))
      end
    end
  end

  # Older releases of OTP would make one literal of both.
  defp zero(sign), do: :erlang.binary_to_term(<<131, 70, sign::1, 0::63>>)

  defp terms do
    leaf = one_of([map(member_of([0, 1]), &zero/1), member_of([0, 1, 1.0, :a])])
    binary = map({member_of([0, 1]), member_of([0, 1])}, fn {sign, end_} -> <<sign::1, 0::63, end_>> end)

    one_of([leaf, leaf, binary, deep(leaf, 2)])
  end

  defp deep(leaf, 0), do: leaf

  defp deep(leaf, depth) do
    inner = deep(leaf, depth - 1)

    one_of([
      leaf,
      {inner, inner},
      list_of(inner, max_length: 3),
      map_of(leaf, inner, max_length: 3),
      map(inner, &%{a: &1})
    ])
  end

  # To the last bit, also where the node takes different zeros for the same.
  defp bits(term), do: :erlang.term_to_binary(term)

  property "the node, plain Elixir, the reference and both tiers say the same" do
    ways =
      for tier <- [:interp, :native] do
        machine = start_supervised!({Mote, tier: tier, id: tier})
        {:ok, _} = Generators.load(machine, Behaviours)

        asked =
          for {name, _} <- @sources, do: {name, Mote.create(machine, apply(Behaviours, :"ask_#{name}", []))}

        {tier, Map.new(asked)}
      end

    check all a <- terms(), b <- one_of([terms(), constant(a)]), max_runs: 300 do
      for {name, _} <- @sources do
        expected = {name, bits(apply(Plain, :"of_#{name}", [a, b]))}
        assert {name, bits(apply(Behaviours, :"of_#{name}", [a, b]))} == expected
        assert {name, bits(referred(name, a, b))} == expected

        for {tier, asked} <- ways,
            do: assert({tier, name, bits(Mote.ask!(asked[name], {a, b}))} == {tier, name, elem(expected, 1)})
      end
    end
  end

  defp referred(name, a, b) do
    {actor, reference} = Reference.create(Reference.new(), apply(Behaviours, :"ask_#{name}", []))
    reference = Reference.send(reference, actor, {Reference.customer(:me), {a, b}})
    [me: answer] = reference |> Reference.run() |> Reference.outside()
    answer
  end

  test "a zero without a sign in a pattern is told of where there are two" do
    two = zero(0) !== zero(1)
    told = "2: the pattern 0.0 matches +0.0 and not -0.0: write +0.0 or -0.0"

    for pattern <- ["0.0", "{0.0, _}", "%{0.0 => _}", "<<0.0::float>>"] do
      assert Mote.Compile.warnings("defpure f(#{pattern}), do: 1") == if(two, do: [told], else: [])
    end

    for body <- ["defpure f(+0.0), do: 1", "defpure f(%{-0.0 => 1.0}), do: 1", "defpure f(x), do: x === 0.0"],
        do: assert(Mote.Compile.warnings(body) == [])
  end
end
