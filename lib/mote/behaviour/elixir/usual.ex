defmodule Mote.Behaviour.Elixir.Usual do
  # Primitives for which Elixir's own operation does where the operands are what they usually are, a list of a loop or a map
  # that is no struct: in functions that plain Elixir calls. Part of the pass to Elixir.
  #
  # Elixir's own returns the same then, and raises nothing.
  @moduledoc false

  alias Mote.Behaviour.AST
  alias Mote.Behaviour.Elixir.Forms
  alias Mote.Total.Term

  @most_fields 32

  @doc "A primitive: with its operands, and with their code. `otherwise` makes the code for what is not usual of that of operands."
  @spec of(atom, [AST.expr()], [Macro.t()], ([Macro.t()] -> Macro.t()), non_neg_integer) :: Macro.t()
  def of(:map_of, [{:tuple, _, parts}], [{:{}, _, codes}] = args, otherwise, l) do
    keys = Enum.take_every(parts, 2)

    # Of two keys that are equal the BEAM's compilers warn, and zeros have signs.
    if Enum.all?(keys, &Forms.exact?/1) and keys == Enum.uniq_by(keys, &elem(&1, 2)),
      do: {:%{}, Forms.generated(l), for([key, value] <- Enum.chunk_every(codes, 2), do: {key, value})},
      else: otherwise.(args)
  end

  # The compiler warns of a literal that is never usual.
  def of(_primitive, [{:lit, _, _} | _], args, otherwise, _l), do: otherwise.(args)

  def of(:map_fetch, [_, key], args, otherwise, l), do: found(key, args, otherwise, l)

  def of(:map_get, [_, key, default], args, otherwise, l),
    do: if(AST.simple?(default), do: found(key, args, otherwise, l), else: otherwise.(args))

  def of(primitive, es, args, otherwise, l) do
    operands = for _ <- es, do: variable(:operand)

    case usual(primitive, operands) do
      nil ->
        otherwise.(args)

      {tests, own} ->
        quote generated: true, line: l do
          case {unquote_splicing(args)} do
            {unquote_splicing(operands)} when unquote(Forms.all(tests, :andalso)) -> unquote(own)
            {unquote_splicing(operands)} -> unquote(otherwise.(operands))
          end
        end
    end
  end

  defp usual(:elements, [list]), do: {[erlang(:is_list, [list])], list}

  defp usual(:map_update, [map, key, new]),
    do: {[map(map), erlang(:is_map_key, [key, map])], maps(:put, [key, new, map])}

  defp usual(:map_put, [map, key, value]), do: {[map(map)], maps(:put, [key, value, map])}
  defp usual(:map_delete, [map, key]), do: {[map(map)], maps(:remove, [key, map])}
  defp usual(:map_has_key, [map, key]), do: {[map(map)], erlang(:is_map_key, [key, map])}
  defp usual(:map_size, [map]), do: {[map(map)], erlang(:map_size, [map])}
  defp usual(:map_merge, [a, b]), do: {[map(a), map(b)], maps(:merge, [a, b])}
  defp usual(:byte_size, [binary]), do: {[erlang(:is_binary, [binary])], erlang(:byte_size, [binary])}
  defp usual(:to_string, [value]), do: {[erlang(:is_binary, [value])], value}
  defp usual(_, _), do: nil

  defp key?({tag, _, _} = key), do: tag == :var or Forms.exact?(key)
  defp key?(_), do: false

  # A pattern finds a key once. `rest` is the default, if there is one.
  defp found(key, [map_code, key_code | rest] = args, otherwise, l) do
    if key?(key) do
      [map, value] = for name <- [:map, :value], do: variable(name)
      missing = for default <- rest, do: {:->, Forms.generated(l), [[guarded(map, map(map))], default]}

      [found, other] =
        quote generated: true, line: l do
          unquote(having(key, key_code, value)) = unquote(map) when unquote(value_map(map)) -> unquote(value)
          unquote(map) -> unquote(otherwise.([map, key_code | rest]))
        end

      {:case, Forms.generated(l), [map_code, [do: [found | missing] ++ [other]]]}
    else
      otherwise.(args)
    end
  end

  defp guarded(pattern, guard), do: {:when, Forms.generated(), [pattern, guard]}

  defp having({tag, _, _}, code, value),
    do: {:%{}, Forms.generated(), [{if(tag == :var, do: {:^, Forms.generated(), [code]}, else: code), value}]}

  defp map(value), do: Forms.all([erlang(:is_map, [value]), value_map(value)], :andalso)

  @doc "A guard that a map is no address and no timer. None has that many keys: finding out takes as long as finding a key."
  @spec value_map(Macro.t()) :: Macro.t()
  def value_map(map) do
    large = erlang(:>, [erlang(:map_size, [map]), @most_fields])
    struct = erlang(:map_get, [:__struct__, map])
    others = for one <- Term.structs(), do: erlang(:"=/=", [struct, one])
    no_struct = erlang(:not, [erlang(:is_map_key, [:__struct__, map])])
    Forms.all([large, no_struct, Forms.all(others, :andalso)], :orelse)
  end

  defp variable(name), do: {name, [generated: true, counter: Forms.unique()], __MODULE__}
  defp erlang(name, args), do: Forms.remote(:erlang, name, args, 0)
  defp maps(name, args), do: Forms.remote(:maps, name, args, 0)
end
