defmodule Mote.Function do
  @moduledoc """
  A function that a behaviour has made, outside of the machine that it was made in.

  Within a machine, `fn x -> x + n end` and `&f/1` are functions that can be kept, sent and called. Elixir gets them as this struct,
  which it can keep and send back:

      iex> %Mote.Function{module: Counter, name: :"counter/1 fn 4:1", arity: 1, version: 12, captures: {2}}
      #Mote.Function<Counter."counter/1 fn 4:1"/1>

  Back in a machine that has loaded the same version of the module, it is a function again. Elsewhere it stays a struct, and a call
  of it aborts the turn with the reason of a `BadFunctionError`.

  A function of Elixir, the other way round, is carried through a machine as it is. Behaviours cannot call it.
  """

  @enforce_keys [:module, :name, :arity, :version, :captures]
  defstruct @enforce_keys

  @typedoc """
  The module and the name of the function in the module's unit, which people do not give, how many arguments it takes, the version of
  the unit, and what the function has captured.
  """
  @type t :: %__MODULE__{
          module: module,
          name: atom,
          arity: arity,
          version: non_neg_integer,
          captures: tuple
        }

  @doc false
  # As a function of Elixir, which is not there to be called, but known by its name and by how many arguments it takes.
  @spec named(t | term) :: function | term
  def named(%__MODULE__{module: module, name: name, arity: arity})
      when is_atom(module) and is_atom(name) and arity in 0..255,
      do: Function.capture(module, name, arity)

  def named(other), do: other

  defimpl Inspect do
    def inspect(%{module: module, name: name, arity: arity}, _opts)
        when is_atom(module) and is_atom(name) and is_integer(arity),
        do: "#Mote.Function<#{inspect(module)}.#{inspect(to_string(name))}/#{arity}>"

    def inspect(function, opts), do: Inspect.Any.inspect(function, opts)
  end
end
