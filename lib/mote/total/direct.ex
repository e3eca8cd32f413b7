defmodule Mote.Total.Direct do
  # The primitives as plain Elixir functions that raise where there is no answer, and that cost no fuel: for
  # `defpure` functions that plain Elixir calls. The first arguments are the place in the source and the
  # function.
  @moduledoc false
  import Kernel, only: [def: 2, @: 1]

  alias Mote.Behaviour.Primitives

  @none Mote.Total.None.value()

  for {_, name, arity, :partial, _} <- Primitives.all() do
    arguments = Macro.generate_arguments(arity, __MODULE__)

    def unquote(name)(where, function, unquote_splicing(arguments)) do
      case unquote(Mote.Total.core(name, arity)).unquote(name)(unquote_splicing(arguments)) do
        @none -> Mote.Turn.Direct.abort({:raised, where, {unquote_splicing(arguments)}}, function)
        value -> value
      end
    end
  end
end
