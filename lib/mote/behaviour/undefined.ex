defmodule Mote.Behaviour.Undefined do
  # `errors: :undefined` in plain Elixir: primitives of the language return `:undefined` where Elixir raises. Those of
  # Kernel and Bitwise are imported in their place (`Mote.Behaviour.Undefined.Words`); in guards and patterns they are
  # Kernel's own.
  #
  # 1. No check passes because of it. An order comparison with `:undefined` is `:undefined`, and fails a guard. A
  #    condition that is `:undefined` does not hold, nor does such a result of a function by which the library decides.
  # 2. Everything that is not a call of a primitive raises as it does anywhere else: other functions, the operands of an
  #    operator, `<<…>>`, and `%{map | key: value}`.
  @moduledoc false

  alias Mote.Behaviour.{Beam, Primitives}

  @bitwise [:band, :bor, :bxor, :bnot, :bsl, :bsr, :&&&, :|||, :<<<, :>>>]
  # What the syntax pass makes of primitives.
  @remote [{Enum, :member?, 2}, {Enum, :reverse, 1}, {Map, :get, 2}] ++
            for(name <- [:add, :sub, :mul, :div, :min, :max], do: {Mote.Vector, name, 2})
  @made [in: 2, ..: 2, <>: 2, +: 1] ++ [{String.to_atom("..//"), 3}]
  @ordered [<: 2, <=: 2, >: 2, >=: 2]
  # Words that raise elsewhere.
  @words [send_after: 3, on: 2, monitor: 2, monitor: 3]
  # These decide by a function that they are given: of an element, or of the order of two. Those of Keyword raise where it returns
  # no boolean.
  @deciding [Enum, Map, MapSet]
  @tests [:all?, :any?, :count, :count_until, :drop_while, :filter, :find, :find_index, :find_value] ++
           [:reject, :split_while, :split_with, :take_while]
  @orders [:max, :max_by, :min, :min_by, :min_max_by, :sort, :sort_by]
  @conditions [if: 2, unless: 2, &&: 2, ||: 2, !: 1, and: 2, or: 2]

  @partial for %{arity: arity, has: :partial, spellings: spellings} <- Primitives.all(),
               name <- spellings,
               is_atom(name) and name not in [:on, :"^^^", :"~~~"],
               do: {name, arity}

  @doc "Returns the functions that are imported in place of Kernel's and Bitwise's, by their kind."
  def instead, do: [tried: @made ++ @partial, compared: @ordered, condition: @conditions]

  @doc "The imports of a module."
  @spec imports() :: [Macro.t()]
  def imports do
    {bitwise, kernel} = Enum.split_with(@made ++ @partial ++ @ordered ++ @conditions, &bitwise?/1)

    [
      quote(do: import(Kernel, except: unquote(kernel), warn: false)),
      quote(do: import(Bitwise, except: unquote(bitwise), warn: false)),
      quote(do: import(unquote(__MODULE__).Words, warn: false)),
      quote(do: import(Beam, except: unquote(@words), warn: false)),
      quote(do: import(unquote(__MODULE__), only: unquote(@words), warn: false))
    ]
  end

  defp bitwise?({name, _}), do: name in @bitwise

  # -- the code of a call, in an expression, a guard or a pattern ----------------------------------------------

  @doc "A call that returns `:undefined` where Elixir's raises."
  def tried(nil, name, arguments), do: tried(elixir(name, arguments))
  def tried(_, name, arguments), do: elixir(name, arguments)

  defp tried({function, meta, arguments}) do
    names = Macro.generate_arguments(length(arguments), __MODULE__)

    quote generated: true do
      (fn unquote_splicing(names) ->
         try do
           unquote({function, meta, names})
         rescue
           _ -> :undefined
         end
       end).(unquote_splicing(arguments))
    end
  end

  @doc "A call of the function of a module, which is expanded; or `map.key`."
  @spec called(Macro.t(), module | Macro.t()) :: Macro.t()
  def called({{:., dot, [_, name]}, meta, arguments} = call, module) when is_atom(module) do
    function = {module, name, length(arguments)}
    primitive = function in @remote or Primitives.remote(module, name, length(arguments)) not in [nil, :on]

    cond do
      primitive -> tried({{:., dot, [module, name]}, meta, arguments})
      module in @deciding and name in @tests -> deciding(call, 1)
      module in @deciding and name in @orders -> deciding(call, 2)
      true -> call
    end
  end

  def called({{:., dot, [map, key]}, meta, []} = call, _),
    do: if(meta[:no_parens], do: tried({{:., dot, [:erlang, :map_get]}, [], [key, map]}), else: call)

  def called(call, _), do: call

  defp deciding({callee, meta, arguments}, arity) do
    arguments =
      for argument <- arguments do
        if match?({_, _, _}, argument),
          do: quote(do: unquote(__MODULE__).decided(unquote(argument), unquote(arity))),
          else: argument
      end

    {callee, meta, arguments}
  end

  @doc "A function of so many arguments as one that returns a condition; any other as it is."
  @spec decided(function, 1 | 2) :: function
  def decided(fun, 1) when is_function(fun, 1), do: &(fun.(&1) |> held())
  def decided(fun, 2) when is_function(fun, 2), do: &(fun.(&1, &2) |> held())
  def decided(fun, _), do: fun

  defp held(:undefined), do: false
  defp held(value), do: value

  @doc "A comparison by order. `hd([])` fails the guard, also behind a `not`."
  def compared(:guard, name, [a, b]) do
    [a?, b?] =
      for e <- [a, b],
          do: quote(generated: true, do: :erlang.orelse(unquote(e) !== :undefined, :erlang.hd([])))

    quote(generated: true, do: unquote(a?) and unquote(b?) and unquote(elixir(name, [a, b])))
  end

  def compared(_, name, [a, b]) do
    quote generated: true do
      case {unquote(a), unquote(b)} do
        {a, b} when a === :undefined or b === :undefined -> :undefined
        {a, b} -> unquote(elixir(name, quote(do: [a, b])))
      end
    end
  end

  @doc "Returns the words that decide by a condition."
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

  def condition(nil, word, [test | rest]), do: elixir(word, [holding(test) | rest])
  def condition(_, word, arguments), do: elixir(word, arguments)

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

  defp elixir(name, arguments),
    do: {{:., [], [if(name in @bitwise, do: Bitwise, else: Kernel), name]}, [generated: true], arguments}

  # -- words ---------------------------------------------------------------------------------------------------

  def send_after(milliseconds, target, message), do: Mote.Turn.Stage.send_after(milliseconds, target, message)
  def on(sponsor, address), do: word(fn -> Beam.on(sponsor, address) end)
  def monitor(process, message), do: word(fn -> Beam.monitor(process, message) end)
  def monitor(process, target, message), do: word(fn -> Beam.monitor(process, target, message) end)

  defp word(fun) do
    fun.()
  rescue
    ArgumentError -> :undefined
  end
end

defmodule Mote.Behaviour.Undefined.Words do
  # What is imported in place of Kernel's operators in a module with `errors: :undefined`.
  @moduledoc false

  import Kernel, only: [defmacro: 2]

  alias Mote.Behaviour.Undefined

  for {what, names} <- Undefined.instead(), {name, arity} <- names do
    arguments = Macro.generate_arguments(arity, __MODULE__)

    defmacro unquote(name)(unquote_splicing(arguments)),
      do: Undefined.unquote(what)(__CALLER__.context, unquote(name), unquote(arguments))
  end
end
