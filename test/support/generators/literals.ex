defmodule Mote.Generators.Literals do
  @moduledoc "Random literals, as source text, and terms."

  import StreamData, except: [integer: 0, float: 0]

  @integers [0, 1, -1, 2, 3, 7, 10, 62, 64, 1_000_000] ++
              [4_611_686_018_427_387_903, -4_611_686_018_427_387_904, 4_611_686_018_427_387_904] ++
              [1_152_921_504_606_846_976, 123_456_789_012_345_678_901_234_567_890, 3_037_000_500] ++
              [-4_611_686_018_427_387_905, 9_223_372_036_854_775_808, 18_446_744_073_709_551_615] ++
              [-340_282_366_920_938_463_463_374_607_431_768_211_457]

  # The second line: 2^-256, 2^-255 and 2^256, where the machine's floats cease to be words, with neighbours, and 2^61.
  @floats [0.0, 1.0, 2.5, -1.5, 1.0e308, 5.0e-324, 4.611686018427388e18, 0.1] ++
            [8.636168555094445e-78, 1.7272337110188893e-77, 1.7272337110188890e-77, 1.1579208923731620e77] ++
            [1.1579208923731618e77, -1.1579208923731620e77, 2.305843009213694e18]
  @atoms [:a, :b, :undefined, nil, true, false]
  @others ["", "text", "\0\x01\x02abcdefghij", [], {}, %{}, %{a: 1}, %{1 => :a, "text" => 2.5}]

  @doc "A literal."
  def literal do
    map(
      frequency([
        {4, integer()},
        {2, float()},
        {3, member_of(@atoms)},
        {2, member_of(@others)}
      ]),
      fn
        float when is_float(float) -> Float.to_string(float)
        other -> inspect(other)
      end
    )
    |> then(
      &frequency([{12, &1}, {1, constant("-0.0")}, {1, constant("[1, 2, 3]")}, {1, constant("{1, :a}")}])
    )
  end

  @doc "A term, for messages."
  def term do
    leaf =
      one_of([
        integer(),
        float(),
        member_of(@atoms),
        member_of(@others),
        integer(-3..3)
      ])

    leaf
    |> tree(fn inner ->
      one_of([
        list_of(inner, max_length: 3),
        map(tuple({inner}), & &1),
        tuple({inner, inner}),
        tuple({inner, inner, inner}),
        map(tuple({inner, inner}), fn {a, b} -> [a | b] end),
        map(list_of(tuple({inner, inner}), max_length: 3), &Map.new/1)
      ])
    end)
  end

  @doc "An integer at which something changes, or one that is nothing special."
  def integer, do: member_of(@integers)

  @doc "A float, likewise."
  def float, do: member_of(@floats)

  @doc "A key of a map, as source text: few, so that many maps have it."
  def key, do: member_of(~w(:a :b 1 2 1.0 "text" [] {1} %{1=>:a}))
end
