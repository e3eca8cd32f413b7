defmodule Mote.Behaviour.Elixir.Binaries do
  # Binaries that are put together by functions which plain Elixir calls: `<<…>>` of Elixir where each value is such as its
  # segment takes, otherwise the primitive. Part of the pass to Elixir.
  @moduledoc false

  import Bitwise

  alias Mote.Behaviour.AST
  alias Mote.Behaviour.Elixir.Forms

  @doc "The primitive `:bin_of`: with its operands, and with their code. `otherwise` makes the code of the primitive itself."
  @spec made([AST.expr()], [Macro.t()], ([Macro.t()] -> Macro.t()), non_neg_integer) :: Macro.t()
  def made([{:tuple, _, es}, {:lit, _, specs}], [{:{}, _, codes}, specs_code] = args, otherwise, l)
      when length(es) == tuple_size(specs) do
    parts = for {e, code, spec} <- Enum.zip([es, codes, Tuple.to_list(specs)]), do: part(e, code, spec)

    if Enum.all?(parts),
      do: put_together(parts, &otherwise.([{:{}, Forms.generated(l), &1}, specs_code]), l),
      else: otherwise.(args)
  end

  def made(_es, args, otherwise, _l), do: otherwise.(args)

  defp put_together(parts, otherwise, l) do
    {variables, codes} = Enum.unzip(for %{code: code, value: variable} <- parts, do: {variable, code})
    tests = for %{test: test} <- parts, do: test
    segments = for %{value: value, as: as} <- parts, do: {:"::", Forms.generated(l), [value, as]}
    values = for %{value: value} <- parts, do: value

    quote generated: true, line: l do
      case {unquote_splicing(codes)} do
        {unquote_splicing(variables)} when unquote(Forms.all(tests, :andalso)) ->
          <<unquote_splicing(segments)>>

        {unquote_splicing(variables)} ->
          unquote(otherwise.(values))
      end
    end
  end

  # A value as it stands in a segment, and for one that is no literal its code and the test whether it fits; nil where that is not
  # known before.
  defp part({:lit, _, value}, _code, spec) do
    case kind(spec) do
      {3, size} when is_binary(value) and size == bit_size(value) -> %{value: value, as: {:binary, [], nil}}
      _ -> nil
    end
  end

  defp part(_, code, spec) do
    value = {:part, [generated: true, counter: Forms.unique()], __MODULE__}
    part = %{value: value, code: code}

    case kind(spec) do
      {0, size} when size in 1..64 ->
        Map.merge(part, %{test: integer([{0, 0x3FF_FFFF_FFFF_FFFF}], value), as: {:size, [], [size]}})

      {2, 0} ->
        Map.merge(part, %{test: Forms.remote(:erlang, :is_binary, [value], 0), as: {:binary, [], nil}})

      {4, 0} ->
        Map.merge(part, %{test: integer([{0, 0xD7FF}, {0xE000, 0x10FFFF}], value), as: {:utf8, [], nil}})

      _ ->
        nil
    end
  end

  # The number of a kind, and a size in bits, of what has no flags: guides/ir.md.
  defp kind(spec) when band(spec, 0b11000) == 0, do: {band(spec, 0b111), spec >>> 5}
  defp kind(_), do: nil

  defp integer(ranges, value) do
    within =
      for {first, last} <- ranges do
        Forms.all(
          [Forms.remote(:erlang, :>=, [value, first], 0), Forms.remote(:erlang, :"=<", [value, last], 0)],
          :andalso
        )
      end

    Forms.all([Forms.remote(:erlang, :is_integer, [value], 0), Forms.all(within, :orelse)], :andalso)
  end
end
