defmodule Mote.Uncommitted do
  @moduledoc """
  A placeholder for an actor, or a timer, that an aborted turn had made and that never existed.

  A turn that aborts leaves nothing behind, so the actors that it had created have no address. Where the reason of the abort
  or a `Mote.Trace.Turn` mentions one, this is shown instead. It cannot receive messages or questions.

    * `behaviour` - `{module, name}`; `nil` for a timer;
    * `number` - from 1, tells those of one turn apart.

      iex> inspect(%Mote.Uncommitted{behaviour: {MyApp.Worker, :worker}, number: 1})
      "#Mote.Uncommitted<MyApp.Worker.worker, 1>"
  """

  @enforce_keys [:behaviour, :number]
  defstruct [:behaviour, :number]

  @type t :: %__MODULE__{behaviour: {module, atom} | nil, number: pos_integer}

  defimpl Inspect do
    def inspect(%{behaviour: behaviour, number: number}, _opts),
      do: "#Mote.Uncommitted<#{what(behaviour)}, #{number}>"

    defp what({module, name}), do: "#{Kernel.inspect(module)}.#{name}"
    defp what(nil), do: "timer"
  end
end
