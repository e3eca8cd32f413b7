defmodule Mote.Total.Must do
  # The primitives as plain Elixir functions that abort the turn where there is no answer. The first argument
  # is the place in the source, for the reason of the abort (`Mote.Raised`).
  @moduledoc false
  import Kernel, only: [def: 2]

  alias Mote.Behaviour.Primitives
  alias Mote.Turn.Stage

  for {_, name, arity, :partial, _} <- Primitives.all() do
    arguments = Macro.generate_arguments(arity, __MODULE__)

    def unquote(name)(where, unquote_splicing(arguments)) do
      case Mote.Total.answer(unquote(name), unquote(arguments)) do
        {:ok, value} -> value
        :none -> Stage.abort({:raised, where, {unquote_splicing(arguments)}})
      end
    end
  end
end
