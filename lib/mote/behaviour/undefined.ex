defmodule Mote.Behaviour.Undefined do
  # `errors: :undefined` in plain Elixir: the primitives of the language, as Elixir has them, return `:undefined` where Elixir
  # raises. `Mote.Behaviour.Undefined.Words` has Kernel's among them, and is imported in their place; in guards and patterns
  # they are Kernel's own.
  #
  # 1. A check does not pass because of it: what is compared with `:undefined` by order is `:undefined`, and fails a guard; a
  #    condition that is `:undefined` does not hold.
  # 2. What is no primitive raises as it does anywhere else, and so do the operands of one.
  @moduledoc false

  alias Mote.Behaviour.Primitives

  @bitwise [:band, :bor, :bxor, :bnot, :bsl, :bsr, :&&&, :|||, :<<<, :>>>]
  # What the syntax pass makes of primitives: of Kernel, and of others.
  @kernel [in: 2, ..: 2, "..//": 3, <>: 2, +: 1]
  @more [{Enum, :member?, 2}, {Enum, :reverse, 1}]

  @ordered [:<, :<=, :>, :>=]
  # Words that raise elsewhere.
  @words [send_after: 3, on: 2, monitor: 2, monitor: 3]
  @conditions [if: 2, unless: 2, &&: 2, ||: 2, !: 1, and: 2, or: 2]

  @wrapped for({name, arity} <- @kernel, do: {Kernel, name, arity}) ++
             for(
               {_, _, arity, :partial, spellings} <- Primitives.all(),
               name <- spellings,
               is_atom(name) and name not in [:on, :"^^^", :"~~~"],
               do: {if(name in @bitwise, do: Bitwise, else: Kernel), name, arity}
             )

  def wrapped, do: @wrapped
  def ordered, do: @ordered
  def conditions, do: @conditions

  @doc "The imports of a module."
  @spec imports() :: [Macro.t()]
  def imports do
    own =
      for({_, name, arity} <- @wrapped, do: {name, arity}) ++
        for(name <- @ordered, do: {name, 2}) ++ @conditions

    {bitwise, kernel} = Enum.split_with(own, fn {name, _} -> name in @bitwise end)

    [
      quote(do: import(Kernel, except: unquote(kernel), warn: false)),
      quote(do: import(Bitwise, except: unquote(bitwise), warn: false)),
      quote(do: import(unquote(__MODULE__).Words, warn: false)),
      quote(do: import(Mote.Behaviour.Beam, except: unquote(@words), warn: false)),
      quote(do: import(unquote(__MODULE__), only: unquote(@words), warn: false))
    ]
  end

  # -- words ---------------------------------------------------------------------------------------------------

  @doc "A call of one of `wrapped/0`, in the context of a guard, a pattern or neither."
  def called(nil, module, name, arguments) do
    names = Macro.generate_arguments(length(arguments), __MODULE__)
    tried(quote(do: unquote(module).unquote(name)(unquote_splicing(names))), names, arguments)
  end

  def called(_, module, name, arguments),
    do: quote(do: unquote(module).unquote(name)(unquote_splicing(arguments)))

  defp tried(code, names, arguments) do
    quote generated: true do
      (fn unquote_splicing(names) ->
         try do
           unquote(code)
         rescue
           _ -> :undefined
         end
       end).(unquote_splicing(arguments))
    end
  end

  @doc "A comparison by order. `hd([])` fails the guard, also behind a `not`."
  def compared(:guard, name, a, b) do
    [a?, b?] =
      for e <- [a, b],
          do: quote(generated: true, do: :erlang.orelse(unquote(e) !== :undefined, :erlang.hd([])))

    quote(
      do:
        :erlang.andalso(
          unquote(a?),
          :erlang.andalso(unquote(b?), Kernel.unquote(name)(unquote(a), unquote(b)))
        )
    )
  end

  def compared(_, name, a, b) do
    quote generated: true do
      case {unquote(a), unquote(b)} do
        {a, b} when a === :undefined or b === :undefined -> :undefined
        {a, b} -> Kernel.unquote(name)(a, b)
      end
    end
  end

  @doc "What decides by a condition."
  def condition(nil, word, [a, b]) when word in [:and, :or] do
    {on_true, on_false} = if word == :and, do: {b, false}, else: {true, b}

    quote generated: true do
      case unquote(a) do
        true -> unquote(on_true)
        false -> unquote(on_false)
        _ -> :undefined
      end
    end
  end

  def condition(nil, :&&, [a, b]) do
    quote generated: true do
      case unquote(a) do
        falsy when falsy in [nil, false, :undefined] -> falsy
        _ -> unquote(b)
      end
    end
  end

  def condition(nil, word, [test | rest]),
    do: quote(do: Kernel.unquote(word)(unquote(holding(test)), unquote_splicing(rest)))

  def condition(_, word, arguments), do: quote(do: Kernel.unquote(word)(unquote_splicing(arguments)))

  @doc "A condition: `:undefined` does not hold."
  @spec holding(Macro.t()) :: Macro.t()
  def holding(test) do
    quote generated: true do
      case unquote(test) do
        :undefined -> false
        value -> value
      end
    end
  end

  def send_after(milliseconds, target, message), do: Mote.Turn.Stage.send_after(milliseconds, target, message)
  def on(sponsor, address), do: answer(Mote.Behaviour.Beam, :on, [sponsor, address])
  def monitor(process, message), do: answer(Mote.Behaviour.Beam, :monitor, [process, message])
  def monitor(process, target, message), do: answer(Mote.Behaviour.Beam, :monitor, [process, target, message])

  # -- what no word stands for ---------------------------------------------------------------------------------

  @doc "The code of a call of another module's function that is a primitive, or of `map.key`; or nil."
  def remote(_, _, _, _, %{mode: :abort}), do: nil

  def remote(module, name, args, meta, %{env: env}) do
    case Macro.expand(module, env) do
      expanded when expanded in [Kernel, Bitwise] ->
        if {expanded, name, length(args)} in @wrapped, do: called(nil, expanded, name, args)

      expanded when is_atom(expanded) ->
        quoted(primitive?(expanded, name, length(args)), :answer, [module, name, args])

      _ ->
        quoted(args == [] and meta[:no_parens] == true, :field, [module, name])
    end
  end

  @doc "The code of `&module.name/arity`, if that is a primitive; or nil."
  def capture(module, name, arity, :undefined) do
    arguments = Macro.generate_arguments(arity, __MODULE__)

    if primitive?(module, name, arity) do
      answer = quoted(true, :answer, [module, name, arguments])
      quote(do: fn unquote_splicing(arguments) -> unquote(answer) end)
    end
  end

  def capture(_, _, _, _), do: nil

  @doc "The code of an updated map, or of a binary that is put together; or nil."
  def made(:%{}, [{:|, _, [map, pairs]}]), do: quoted(true, :update, [map, pairs])
  def made(:%{}, _), do: nil

  def made(:<<>>, segments) do
    {segments, bound} = Enum.map_reduce(segments, [], &segment/2)
    {names, values} = bound |> Enum.reverse() |> Enum.unzip()

    if names != [], do: tried({:<<>>, [], segments}, names, values)
  end

  # What is calculated is calculated before.
  defp segment({:"::", meta, [value, type]}, bound) do
    {value, bound} = segment(value, bound)
    {{:"::", meta, [value, type]}, bound}
  end

  defp segment({form, _, _} = value, bound) when form in [:<<>>], do: {value, bound}

  defp segment({_, _, _} = value, bound) do
    name = Macro.var(:"part#{length(bound)}", __MODULE__)
    {name, [{name, value} | bound]}
  end

  defp segment(literal, bound), do: {literal, bound}

  defp primitive?(module, name, arity),
    do: {module, name, arity} in @more or Primitives.remote(module, name, arity) not in [nil, :on]

  defp quoted(true, name, args), do: {{:., [], [__MODULE__, name]}, [generated: true], args}
  defp quoted(_, _, _), do: nil

  def answer(module, name, arguments) do
    apply(module, name, arguments)
  rescue
    _ -> :undefined
  end

  def field(map, key), do: answer(:erlang, :map_get, [key, map])

  def update(map, pairs),
    do: Enum.reduce(pairs, map, fn {key, value}, map -> answer(:maps, :update, [key, value, map]) end)
end
