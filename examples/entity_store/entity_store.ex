defmodule EntityStore do
  @moduledoc """
  A key-value store of entities that survives `kill -9`: each entity is an actor of a durable machine.

      {:ok, machine} = EntityStore.start_link("/var/lib/entities")
      EntityStore.put(machine, "anna", %{apples: 3})     #=> :ok
      EntityStore.update(machine, "anna", :apples, 2)    #=> {:ok, 5}

  After a crash `start_link/1` with the same folder gives the store back, with everything that was acknowledged.
  """

  use Mote.Behaviour

  # An entity that is not there has the value `nil`. The changes are counted: who has read a version may ask for it.
  defactor entity(value, version) do
    {customer, {:put, new}} ->
      send customer, {:ok, version + 1}
      become entity(new, version + 1)

    {customer, {:update, field, by}} when is_map(value) ->
      new = Map.update(value, field, by, &(&1 + by))
      send customer, {:ok, Map.get(new, field)}
      become entity(new, version + 1)

    {customer, {:update, _field, _by}} ->
      send customer, :error

    # Only if nobody has changed it meanwhile.
    {customer, {:replace, ^version, new}} ->
      send customer, {:ok, version + 1}
      become entity(new, version + 1)

    {customer, {:replace, _other, _new}} ->
      send customer, {:changed, value, version}

    {customer, :get} ->
      send customer, {value, version}
  end

  defdirectory entities() do
    _key -> entity(nil, 0)
  end

  @doc "Starts the store of a folder: a new one, or what it was before. Options are those of `durable:` (`Mote.Durable`)."
  @spec start_link(Path.t(), keyword) :: {:ok, pid} | {:error, term}
  def start_link(folder, opts \\ []) do
    with {:ok, machine} <- Mote.start_link(durable: [dir: folder] ++ opts) do
      if Mote.names(machine) == %{} do
        entities = Mote.Directory.start(machine, entities())
        # From here on the store has its entry point in each life.
        {:ok, _image} = Mote.Durable.checkpoint(machine, %{entities: entities})
      end

      {:ok, machine}
    end
  end

  @doc "Puts a value; it is on the disk when this returns."
  @spec put(Mote.Machine.t(), term, term) :: :ok
  def put(machine, key, value) do
    {:ok, _version} = ask!(machine, key, {:put, value})
    :ok
  end

  @doc "Adds to a field of a value that is a map."
  @spec update(Mote.Machine.t(), term, term, number) :: {:ok, number} | :error
  def update(machine, key, field, by), do: ask!(machine, key, {:update, field, by})

  @doc "Puts a value in the place of that version; the value that is there, if it is another version."
  @spec replace(Mote.Machine.t(), term, non_neg_integer, term) ::
          {:ok, pos_integer} | {:changed, term, non_neg_integer}
  def replace(machine, key, version, value), do: ask!(machine, key, {:replace, version, value})

  @doc "The value of a key, `nil` if it has none, and its version."
  @spec get(Mote.Machine.t(), term) :: {term, non_neg_integer}
  def get(machine, key), do: ask!(machine, key, :get)

  defp ask!(machine, key, request),
    do: Mote.Directory.ask!(Mote.names(machine).entities, key, request)
end
