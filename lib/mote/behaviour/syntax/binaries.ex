defmodule Mote.Behaviour.Syntax.Binaries do
  # `<<…>>` and `<>`. A segment becomes a map:
  #
  #     %{kind: :int | :float | :binary | :rest | :utf8, value: pattern or expression,
  #       size: nil | expression, unit: n, signed: boolean, little: boolean}
  #
  # `:rest` is a binary or, with a unit of 1, a bitstring without a size: all of it when one is put together, what is left in a
  # pattern. The loops of generators add `:skip`, bits that were read before, and `:tail`, any bits that are left. What a segment
  # means to the machine is in the later passes, and in guides/ir.md.
  @moduledoc false

  alias Mote.Behaviour.{AST, Error, Syntax}

  # Two integers that a machine reads or writes at once.
  @max_bits 128

  @doc "The operands of `a <> b <> …` as segments."
  @spec joined(Macro.t(), Macro.t()) :: [Macro.t()]
  def joined(a, {:<>, _, [b, c]}), do: joined(a, b) ++ tl(joined(nil, c))
  def joined(a, b), do: for(part <- [a, b], do: {:"::", [], [part, {:binary, [], nil}]})

  @kinds %{int: 0, float: 1, rest: 2, binary: 3, utf8: 4, bits: 5}

  @doc "A binary put together."
  @spec construct([Macro.t()], Macro.Env.t()) :: AST.expr()
  def construct(segments, env) do
    segments = for s <- segments, do: segment(s, env, &Syntax.expr(&1, env), &Syntax.expr(&1, env))
    {before, segments} = if Enum.any?(segments, &AST.wide?/1), do: halved(segments, env), else: {[], segments}

    {values, specs} =
      segments
      |> Enum.map(fn s ->
        flags = kind(s) + if(s.little, do: 8, else: 0)

        case s.size do
          nil -> {[s.value], flags}
          {:lit, _, n} when is_integer(n) -> {[s.value], n * s.unit * 32 + flags}
          size -> {[s.value, size], s.unit * 32 + 16 + flags}
        end
      end)
      |> Enum.unzip()

    specs = {:lit, env.line, List.to_tuple(specs)}
    made = AST.op(env.line, :bin_of, [AST.tuple(env.line, Enum.concat(values)), specs])
    AST.block(env.line, before ++ [made])
  end

  # Values are calculated once, and in their order.
  defp halved(segments, env) do
    {before, segments} =
      segments
      |> Enum.map(fn s ->
        variable = Syntax.fresh(:part)
        {{:match, env.line, {:bind, env.line, variable}, s.value}, %{s | value: {:var, env.line, variable}}}
      end)
      |> Enum.unzip()

    {before, Enum.flat_map(segments, &if(AST.wide?(&1), do: halves(&1, env), else: [&1]))}
  end

  defp halves(%{value: value, size: {:lit, l, n}, unit: unit} = s, env) do
    high = {:if, l, AST.op(l, :is_integer, [value]), AST.op(l, :bsr, [value, {:lit, l, 64}]), value}
    low = %{s | size: {:lit, l, 64}, unit: 1}
    high = %{s | value: high, size: {:lit, env.line, n * unit - 64}, unit: 1}
    if s.little, do: [low, high], else: [high, low]
  end

  defp kind(%{kind: :rest, unit: 1}), do: @kinds.bits
  defp kind(%{kind: kind}), do: Map.fetch!(@kinds, kind)

  @doc "The pattern of a binary."
  @spec pattern([Macro.t()], Macro.Env.t()) :: AST.pattern()
  def pattern(written, env) do
    segments = for s <- written, do: segment(s, env, &Syntax.Pattern.pattern(&1, env), &size(&1, env))
    pinned_sizes(written, segments, env)

    case Enum.split(segments, -1) do
      {init, _} ->
        if Enum.any?(init, &(&1.kind == :rest)) do
          Error.raise_at(
            env,
            env.line,
            "a binary without a size must be the last segment: write binary-size(n)"
          )
        end
    end

    for %{value: value} <- segments, elem(value, 0) not in [:any, :bind, :pin, :lit] do
      Error.raise_at(env, env.line, "a segment of a pattern is a literal, a variable, _ or ^pinned")
    end

    {:bin, env.line, segments}
  end

  @doc "The pattern of a generator over a binary, which is a part of it."
  @spec generator([Macro.t()], Macro.Env.t()) :: AST.pattern()
  def generator(segments, env) do
    {:bin, _, segments} = pattern = pattern(segments, env)

    if Enum.any?(segments, &(&1.kind == :rest)) do
      Error.raise_at(
        env,
        env.line,
        "a binary without a size takes all there is: write binary-size(n) in a generator"
      )
    end

    pattern
  end

  # Later releases of Elixir ask for a pin where the variable is not of the pattern itself.
  defp size({:^, _, [{name, _, context} = variable]}, env) when is_atom(name) and is_atom(context),
    do: size(variable, env)

  defp size(ast, env) do
    case Syntax.expr(ast, %{env | context: :guard}) do
      {:var, _, _} = variable ->
        variable

      {:lit, _, n} = lit when is_integer(n) ->
        lit

      _ ->
        Error.raise_at(
          env,
          env.line,
          "the size of a segment is an integer or a variable in a pattern, not #{Macro.to_string(ast)}: " <>
            "bind a variable before, or use unit(n)"
        )
    end
  end

  defp pinned_sizes(written, segments, env) do
    {_, pinned} = Macro.prewalk(written, [], &{&1, pinned_size(&1) ++ &2})

    for %{value: {:bind, _, {name, _} = bound}} <- segments, bound in pinned do
      Error.raise_at(
        env,
        env.line,
        "#{name} is bound by the pattern that has it as a pinned size: give one another name"
      )
    end
  end

  defp pinned_size({form, _, [{:^, _, [{name, meta, context}]} | _]})
       when form in [:size, :*] and is_atom(context),
       do: [{name, Keyword.get(meta, :counter, context)}]

  defp pinned_size(_), do: []

  # -- segments ------------------------------------------------------------------------------------------------

  # What nothing is said of is unsigned, big, and of the type of the value.
  @none %{type: nil, size: nil, unit: nil, signed: nil, little: nil}

  defp segment({:"::", meta, [value, spec]}, env, parse, size) do
    env = Error.at(env, meta)
    finish(value, spec |> flat() |> Enum.reduce(@none, &option(&1, &2, env)), env, parse, size)
  end

  defp segment(value, env, parse, size), do: finish(value, @none, env, parse, size)

  defp flat({:-, _, [a, b]}), do: flat(a) ++ flat(b)
  defp flat(one), do: [one]

  defp option(n, o, env) when is_integer(n), do: said(o, :size, n, n, env)
  defp option({:size, _, [n]} = ast, o, env), do: said(o, :size, n, ast, env)
  defp option({:unit, _, [n]} = ast, o, env) when n in 1..256, do: said(o, :unit, n, ast, env)

  defp option({:*, _, [size, unit]} = ast, o, env) when unit in 1..256,
    do: o |> said(:size, size, ast, env) |> said(:unit, unit, ast, env)

  defp option({name, _, args} = ast, o, env) when is_atom(name) and args in [nil, []] do
    case name do
      type when type in [:integer, :float, :binary, :utf8] -> said(o, :type, type, ast, env)
      :bytes -> said(o, :type, :binary, ast, env)
      bits when bits in [:bits, :bitstring] -> said(o, :type, :bits, ast, env)
      :signed -> said(o, :signed, true, ast, env)
      :unsigned -> said(o, :signed, false, ast, env)
      :big -> said(o, :little, false, ast, env)
      :little -> said(o, :little, true, ast, env)
      :native -> said(o, :little, :erlang.system_info(:endian) == :little, ast, env)
      _ -> option_error(ast, env)
    end
  end

  defp option({name, meta, context}, o, env) when is_atom(name) and is_atom(context),
    do: option({name, meta, nil}, o, env)

  defp option(ast, _, env), do: option_error(ast, env)

  # The same may be said twice, as in Elixir.
  defp said(o, key, value, ast, env) do
    case o do
      %{^key => known} when known in [nil, value] ->
        %{o | key => value}

      _ ->
        Error.raise_at(env, env.line, "#{Macro.to_string(ast)} contradicts what this segment says before it")
    end
  end

  defp option_error(ast, env) do
    Error.raise_at(
      env,
      env.line,
      "#{Macro.to_string(ast)} is not available in a segment; there are integer, float, binary, bits, utf8, signed, " <>
        "unsigned, big, little, native, size(n) and unit(n)"
    )
  end

  # What an attribute holds decides about the type, too.
  defp finish({:@, _, _} = attribute, o, env, parse, size),
    do: finish(Macro.expand(attribute, env), o, env, parse, size)

  defp finish(value, o, env, parse, size) do
    type = o.type || default_type(value)
    text = is_binary(value)
    signed!(type, o, env)
    o = %{o | size: o.size && size.(o.size)}

    case type do
      type when text and type in [:binary, :bits, :utf8] and o.size == nil ->
        # In a pattern the literal says how many bytes there are; where a binary is made, all of it is meant.
        made(%{o | size: {:lit, env.line, byte_size(value)}}, :binary, parse.(value), 8)

      :integer ->
        made(%{o | size: o.size || {:lit, env.line, 8}}, :int, parse.(value), 1) |> check_bits(env)

      :float ->
        made(%{o | size: o.size || {:lit, env.line, 64}}, :float, parse.(value), 1) |> check_float(env)

      :binary ->
        made(o, if(o.size, do: :binary, else: :rest), parse.(value), 8) |> check_unit(env)

      :bits ->
        made(bytes(o), if(o.size, do: :binary, else: :rest), parse.(value), 1) |> check_unit(env)

      :utf8 ->
        if o.size || o.unit, do: Error.raise_at(env, env.line, "a utf8 segment has neither size nor unit")
        made(o, :utf8, parse.(value), 1)
    end
  end

  defp signed!(type, %{signed: signed}, env) when signed != nil and type not in [:integer, :float],
    do:
      Error.raise_at(env, env.line, "signed and unsigned are for integer and float segments, not for #{type}")

  defp signed!(_, _, _), do: :ok

  # Bits that are whole bytes are read as these.
  defp bytes(%{unit: nil} = o), do: bytes(%{o | unit: 1})

  defp bytes(%{size: {:lit, l, n}, unit: unit} = o) when is_integer(n) and rem(n * unit, 8) == 0,
    do: %{o | size: {:lit, l, div(n * unit, 8)}, unit: 8}

  defp bytes(o), do: o

  defp made(o, kind, value, unit),
    do: %{
      kind: kind,
      value: value,
      size: o.size,
      unit: o.unit || unit,
      signed: o.signed == true,
      little: o.little == true
    }

  defp default_type(value) when is_binary(value), do: :binary
  defp default_type(value) when is_float(value), do: :float
  defp default_type({op, _, _}) when op in [:<<>>, :<>], do: :binary
  defp default_type(_), do: :integer

  defp check_bits(%{size: {:lit, _, n}, unit: unit} = s, env) when n * unit > @max_bits or n < 0 do
    _ = s
    Error.raise_at(env, env.line, "an integer segment has 0 to #{@max_bits} bits, not #{n * unit}")
  end

  defp check_bits(s, _), do: s

  defp check_float(%{size: {:lit, _, n}, unit: unit} = s, _) when (n * unit) in [32, 64], do: s
  defp check_float(_, env), do: Error.raise_at(env, env.line, "a float segment has 32 or 64 bits")

  defp check_unit(%{kind: :rest, unit: unit}, env) when unit not in [1, 8],
    do: Error.raise_at(env, env.line, "the unit of a segment without a size is 1 or 8 bits, not #{unit}")

  defp check_unit(s, _), do: s
end
