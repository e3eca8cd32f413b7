defmodule Mote.Address do
  @moduledoc """
  The address of an actor: a capability to send to it.

  An address is handed out by `Mote.create/3` and in messages from actors, and cannot be made up: a key that no
  machine gave leads nowhere. While a term with an address exists, its actor exists; for addresses on other
  nodes see the guide *Nodes*. Two addresses of one actor are equal (`==`), so addresses serve as keys of
  maps. A reference made with `on(sponsor, address)`, where `sponsor` is set, is a different term from the
  address.

  It is shown with the name of its machine, if that has one, and with `down` once the machine is. One of another node is
  shown with that node.

  The fields are private: match on `%Mote.Address{}`, send with `Mote.send/3`.
  """

  @enforce_keys [:machine, :key]
  defstruct [:machine, :key, sponsor: nil]

  @type t :: %__MODULE__{machine: reference, key: binary, sponsor: atom}

  defimpl Inspect do
    # The key is what makes an address unforgeable: a hash tells addresses apart and gives nothing away.
    def inspect(%{machine: machine, key: key, sponsor: sponsor}, _opts) do
      hash = {machine, key} |> :erlang.phash2(0x1000000) |> Integer.to_string(36) |> String.downcase()
      "#Mote.Address<#{hash}#{on(sponsor)}#{machine(machine)}>"
    end

    defp on(nil), do: ""
    defp on(sponsor), do: " on #{Kernel.inspect(sponsor)}"

    defp machine(machine) when is_reference(machine) and node(machine) != node(), do: " on #{node(machine)}"

    # By tables of this node, which do not wait for the machine.
    defp machine(machine) do
      with pid when is_pid(pid) <- Mote.Native.machine_owner(machine),
           {:ok, _} <- Mote.Machine.Table.fetch(pid) do
        case Mote.Machine.Table.name(pid) do
          nil -> ""
          name -> " in #{Kernel.inspect(name)}"
        end
      else
        # The machine is down; of one that this node has had before it was restarted nothing is known.
        :error -> ", down"
        :unknown -> ""
      end
    end
  end
end
