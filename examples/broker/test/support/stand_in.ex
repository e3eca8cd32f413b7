defmodule Broker.StandIn do
  @moduledoc "A socket without a network: what a peer sends is fed to it, and what it would send goes to `owner`, behind a name."
  use Mote.Behaviour

  # `has`: what has come and was not read. `read`: `{customer, what, timer}`. `ended`: why nothing comes any more. A socket that is
  # `stuck` takes nothing.
  defactor socket(owner, name, has \\ "", read \\ nil, ended \\ nil, stuck \\ false) do
    {:feed, bytes} ->
      become has: has <> bytes
      send self(), :serve

    {:end, reason} ->
      become ended: reason
      send self(), :serve

    {:stuck, stuck} ->
      become stuck: stuck

    {customer, {:read, what}} ->
      become read: {customer, what, nil}
      send self(), :serve

    {customer, {:read, what, milliseconds}} ->
      become read: {customer, what, send_after(milliseconds, self(), :late)}
      send self(), :serve

    :late when read != nil ->
      send elem(read, 0), {:error, :timeout}
      become read: nil

    :serve when read != nil ->
      {customer, what, timer} = read
      size = if what == :some, do: byte_size(has), else: what

      cond do
        has != "" and byte_size(has) >= size ->
          if timer, do: cancel_timer(timer)
          send customer, {:ok, binary_part(has, 0, size)}
          become read: nil, has: binary_part(has, size, byte_size(has) - size)

        ended != nil ->
          if timer, do: cancel_timer(timer)
          send customer, {:error, ended}
          become read: nil

        true ->
          :waits
      end

    {customer, {:write, bytes}} ->
      send owner, {name, IO.iodata_to_binary(bytes)}
      if customer != nil and not stuck, do: send(customer, :ok)

    {_customer, {:shutdown, :write}} ->
      send owner, {name, :shut}

    {_customer, :close} ->
      send owner, {name, :closed}
      become ended: :closed
      send self(), :serve
  end
end
