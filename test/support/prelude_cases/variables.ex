defmodule Mote.PreludeCases.Variables do
  @moduledoc "The variables of cases: what each is follows from its name. See `Mote.PreludeCases`."

  import StreamData

  @variables ~w[
    base bin chars coded digits digits_text e e_list f float hex i ints key keys kw l letters lists map n n_in n_more number ordered
    pad pairs s t terms texts tuple u
  ]a

  @doc "The variables of a case that are generated."
  def of(expression) do
    {_, names} =
      expression
      |> Code.string_to_quoted!()
      |> Macro.prewalk([], fn
        {name, _, nil} = node, names when name in @variables -> {node, [name | names]}
        node, names -> {node, names}
      end)

    names |> Enum.uniq() |> Enum.sort()
  end

  @doc "What a variable may be."
  def generator(name)

  def generator(:e), do: one_of([list_of(small()), map_of(small(), small()), terms()])
  def generator(:e_list), do: list_of(small(), min_length: 6)
  def generator(name) when name in [:l, :ints], do: list_of(small(), max_length: 14)
  def generator(:terms), do: terms()

  # Elixir's sort/1 leaves numbers that are equal and not the same in no order that it tells of.
  def generator(:ordered),
    do: list_of(one_of([small(), {small(), small()}, text(), member_of([:a, nil, 0.5, [1]])]))

  def generator(:pairs), do: list_of({small(), small()}, max_length: 40)
  def generator(:map), do: map_of(small(), small(), max_length: 8)
  def generator(:texts), do: list_of(one_of([text(), small(), member_of([:a, :é])]))
  def generator(:i), do: small()
  def generator(name) when name in [:n, :n_more], do: integer(0..7)
  def generator(:n_in), do: integer(-6..6)
  def generator(:t), do: a_term()
  def generator(:s), do: text()

  def generator(:u),
    do: string([?a..?c, ?\s, ?\t, ?\n, ?\r, 0xA0, ?é, 0x3000, ?漢, ?€, 0x2003], max_length: 9)

  def generator(:f), do: one_of([float(min: -1.0e6, max: 1.0e6), map(integer(-40..40), &(&1 / 2))])

  def generator(:float) do
    one_of([
      float(),
      map(integer(1..0x7FEF), fn n ->
        <<f::float>> = <<n::16, 7::48>>
        f
      end)
    ])
  end

  def generator(:letters) do
    string(
      [
        ?A..?z,
        0xC0..0x58F,
        0x10A0..0x10FF,
        0x13A0..0x13FD,
        0x1C80..0x2184,
        0xA640..0xABBF,
        0xFB00..0xFB17,
        0x10400..0x104FF
      ],
      max_length: 9
    )
  end

  def generator(:bin), do: binary(max_length: 9)
  def generator(:hex), do: string([?0..?9, ?A..?F, ?a..?f, ?g], max_length: 4)

  def generator(:coded) do
    characters = string([?A..?F, ?U..?Z, ?a..?c, ?v, ?w, ?0, ?1, ?2, ?7, ?8], max_length: 9)
    map({characters, integer(0..8)}, fn {text, n} -> text <> String.duplicate("=", n) end)
  end

  def generator(:base), do: string([?A..?F, ?w..?z, ?0, ?9, ?+, ?/, ?-, ?_, ?=], max_length: 6)

  def generator(:chars) do
    list_of(one_of([text(), member_of([?a, ?é, 0x1F600]), list_of(one_of([text(), member_of([?x, ?ü])]))]))
  end

  def generator(:digits_text), do: string([?0..?2, ?., ?e, ?-, ?+], max_length: 8)
  def generator(:number), do: one_of([integer(-1_000_000..1_000_000), map(integer(), &(&1 * 7 ** 60))])
  def generator(:pad), do: string(?a..?c, min_length: 1, max_length: 3)
  def generator(:digits), do: map(one_of([integer(0..1_000_000_000), constant(3 ** 99)]), &Integer.digits/1)
  def generator(:key), do: member_of([:a, :b, :c, :d])
  def generator(:keys), do: list_of(member_of([:a, :b, :c, :d]), max_length: 3)
  def generator(:kw), do: list_of({member_of([:a, :b, :c, :d]), small()}, max_length: 6)

  def generator(:lists),
    do: list_of(one_of([small(), list_of(one_of([small(), list_of(small())]))]), max_length: 5)

  def generator(:tuple), do: map(list_of(small(), min_length: 1, max_length: 5), &List.to_tuple/1)

  defp small, do: integer(-7..7)
  defp terms, do: list_of(a_term(), max_length: 12)

  # Few of them, so that some are equal; numbers that are equal and not the same.
  defp a_term do
    one_of([member_of([nil, false, true, :a, 1, 1.0, 2, "b", [], {1, 2}, [1], %{a: 1}]), small()])
  end

  defp text, do: string([?a..?c, ?\s, ?,, ?A..?C], max_length: 9)
end
