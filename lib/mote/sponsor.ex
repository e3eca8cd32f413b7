defmodule Mote.Sponsor do
  @moduledoc """
  A sponsor as a value: what `Mote.sponsor/2` gives, to be looked at.

      #Mote.Sponsor<:multi of MyApp.Mote, 4 threads, 1 asleep, 120 queued>

  It is shown as it is at that moment, without waiting for the machine; also when the machine is down or has no such
  sponsor any more.
  """

  alias Mote.{Error, Machine}

  @enforce_keys [:machine, :name]
  defstruct [:machine, :name]

  @type t :: %__MODULE__{machine: Machine.t(), name: atom}

  @doc "See `Mote.sponsor/2`."
  @spec get(Machine.t(), atom) :: t
  def get(machine, name) do
    machine = Machine.handle(machine)

    if name in Mote.sponsors(machine),
      do: %__MODULE__{machine: machine, name: name},
      else: raise(Error.from(:no_sponsor, machine: machine, sponsor: name))
  end

  defimpl Inspect do
    alias Mote.{Machine, Native}

    def inspect(%{machine: machine, name: name}, _opts) do
      "#Mote.Sponsor<#{Kernel.inspect(name)} of #{Machine.label(machine)}, #{state(machine, name)}>"
    end

    defp state(machine, name) do
      with {:ok, native} <- Machine.fetch(machine),
           %{sponsors: %{^name => sponsor}} <- Native.machine_info(native) do
        "#{count(sponsor.threads)}, #{sponsor.asleep} asleep, #{sponsor.queued} queued"
      else
        %{} -> "removed"
        _ -> "down"
      end
    rescue
      # No machine that there can be.
      ArgumentError -> "unknown"
    end

    defp count([_]), do: "1 thread"
    defp count(threads), do: "#{length(threads)} threads"
  end
end
