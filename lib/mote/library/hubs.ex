defmodule Mote.Library.Hubs do
  # Finding each other: actors by name, and subscribers of a topic.
  @moduledoc """
  The behaviours of `Mote.Library` through which actors find and hear each other.

  Registered and subscribed actors are kept: an actor that nothing else refers to lives as long as the hub has
  it. A process that has ended is forgotten, also one of another node, and all of a node that cannot be reached any more.
  """

  use Mote.Behaviour

  @doc """
  Addresses by name. Names are any terms, and belong to this registry only.

    * `{customer, {:register, name, address}}` - `:ok`, or `{:error, {:taken, address}}` with the address that has the name;
    * `{customer, {:lookup, name}}` - `{:ok, address}` or `{:error, :unknown}`;
    * `{customer, {:unregister, name}}` - `:ok` or `{:error, :unknown}`;
    * `{customer, :names}` - the list of the names, in the order of terms.

  Something that is not an address is not registered: such a request is ignored.

      iex> {:ok, machine} = Mote.start_link()
      iex> [registry, one] = for b <- [Mote.Library.registry(), Mote.Library.const(1)], do: Mote.create(machine, b)
      iex> {Mote.ask!(registry, {:register, :one, one}), Mote.ask!(registry, {:lookup, :one}) == {:ok, one}}
      {:ok, true}
      iex> {Mote.ask!(registry, :names), Mote.ask!(registry, {:lookup, :two})}
      {[:one], {:error, :unknown}}
  """
  defactor registry(), to: registered(%{})

  # Each name with its address, and with what watches that if it is a process.
  @doc false
  defactor registered(names) do
    {customer, {:register, name, _address}} when is_map_key(names, name) ->
      {taken, _} = Map.get(names, name)
      send customer, {:error, {:taken, taken}}

    {customer, {:register, name, address}} when is_address(address) ->
      send customer, :ok
      monitor = if is_pid(address), do: monitor(address, {:ended, name, address})
      become registered(Map.put(names, name, {address, monitor}))

    {customer, {:lookup, name}} when is_map_key(names, name) ->
      {address, _} = Map.get(names, name)
      send customer, {:ok, address}

    {customer, {:lookup, _name}} ->
      send customer, {:error, :unknown}

    {customer, {:unregister, name}} when is_map_key(names, name) ->
      send customer, :ok
      {_, monitor} = Map.get(names, name)
      demonitor(monitor)
      become registered(Map.delete(names, name))

    {customer, {:unregister, _name}} ->
      send customer, {:error, :unknown}

    {customer, :names} ->
      send customer, Map.keys(names)

    {:ended, name, process} ->
      case names do
        %{^name => {^process, _}} -> become registered(Map.delete(names, name))
        _ -> nil
      end
  end

  @doc """
  A published message goes to all subscribers.

    * `{customer, {:subscribe, address}}` - `:ok`; subscribing twice has no further effect;
    * `{customer, {:unsubscribe, address}}` - `:ok`, even if it was not subscribed;
    * `{customer, {:publish, message}}` - sends `message` to all current subscribers, and answers with their
      number.

  Something that is not an address cannot subscribe: such a request is ignored. For topics, create one hub
  each.

      iex> {:ok, machine} = Mote.start_link()
      iex> hub = Mote.create(machine, Mote.Library.pubsub())
      iex> for request <- [{:publish, 1}, {:subscribe, self()}, {:publish, 2}, {:unsubscribe, self()}, {:publish, 3}],
      ...>     do: Mote.ask!(hub, request)
      [0, :ok, 1, :ok, 0]
      iex> receive do message -> message end
      2
  """
  defactor pubsub(), to: hub(%{})

  # Each subscriber, with what watches it if it is a process.
  @doc false
  defactor hub(subscribers) do
    {customer, {:subscribe, address}} when is_map_key(subscribers, address) ->
      send customer, :ok

    {customer, {:subscribe, address}} when is_address(address) ->
      send customer, :ok
      monitor = if is_pid(address), do: monitor(address, {:ended, address})
      become hub(Map.put(subscribers, address, monitor))

    {customer, {:unsubscribe, address}} ->
      send customer, :ok
      demonitor(Map.get(subscribers, address))
      become hub(Map.delete(subscribers, address))

    {customer, {:publish, message}} ->
      Enum.each(Map.keys(subscribers), fn subscriber -> send subscriber, message end)
      send customer, map_size(subscribers)

    {:ended, process} ->
      become hub(Map.delete(subscribers, process))
  end
end
