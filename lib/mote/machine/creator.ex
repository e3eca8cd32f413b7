defmodule Mote.Machine.Creator do
  # Creating actors: brings the code of the behaviour into the machine first, if it is not there.
  @moduledoc false

  alias Mote.{Address, Behaviour, Error, Native}
  alias Mote.Machine.{Loader, Long}
  require Long

  # As many as one call of the NIF creates.
  @batch 500

  # Captures of more elements are shared between batches.
  @large 32

  # So many are created by a process of their own. Words of its heap for each of them, and of binaries that count for it; and for
  # how many at most: a third of a gigabyte.
  @many 20_000
  @words 40
  @binary_words 20
  @most 1_000_000

  # What every address begins as. One that is an update of a map shares its keys with it, and takes a fifth less memory.
  @address %Address{machine: nil, key: nil}

  @doc "Creates an actor in a native machine, pinned to a sponsor unless that is `nil`."
  @spec create(reference, Behaviour.t(), atom) :: {:ok, Address.t()} | {:error, Error.t()}
  def create(native, %{module: module, name: name, version: version, captures: captures} = behaviour, sponsor) do
    # Nearly always there is nothing to be done again, and a function for that would take a tenth of all the time.
    case Native.create(native, module, name, version, captures, sponsor) do
      key when is_binary(key) -> {:ok, address(native, key)}
      word when word in [:big, :long, :load] -> create_anyway(native, behaviour, sponsor)
      word -> not_created(word, native, behaviour, sponsor)
    end
  rescue
    # Its version is a large integer, which takes a while to compare: so it is looked at when the NIF has not taken it.
    error in ArgumentError ->
      made_by_module!(behaviour)
      reraise error, __STACKTRACE__
  end

  defp create_anyway(native, behaviour, sponsor) do
    %{module: module, name: name, version: version, captures: captures} = behaviour
    make = fn -> Long.call(captures, Native.create(native, module, name, version, captures, sponsor)) end

    case loaded(native, behaviour, make) do
      key when is_binary(key) -> {:ok, address(native, key)}
      other -> not_created(other, native, behaviour, sponsor)
    end
  end

  defp address(native, key), do: %{@address | machine: native, key: key}
  defp addresses(native, keys), do: for(key <- keys, do: address(native, key))

  @doc """
  Creates a number of actors of one behaviour that are consecutive in memory, so that a machine need not read
  an address from a tuple of them.
  """
  @spec create_row(reference, Behaviour.t(), pos_integer, atom) :: {:ok, [Address.t()]} | {:error, Error.t()}
  def create_row(native, behaviour, count, sponsor) do
    %{module: module, name: name, version: version, captures: captures} = behaviour
    made_by_module!(behaviour)
    kept = Long.kept(captures)
    make = fn -> Native.create_row(native, module, name, version, captures, sponsor, count, kept) end

    case loaded(native, behaviour, make) do
      keys when is_list(keys) -> {:ok, addresses(native, keys)}
      other -> not_created(other, native, behaviour, sponsor)
    end
  end

  defp loaded(native, behaviour, make),
    do: with(:load <- make.(), do: load(native, behaviour, false, make))

  defp not_created({:error, _} = error, _native, _behaviour, _sponsor), do: error

  defp not_created(:no_sponsor, native, behaviour, sponsor) do
    known = Native.machine_sponsors(native)
    {:error, Error.from(:no_sponsor, behaviour: behaviour, sponsor: sponsor, known: known)}
  end

  defp not_created(word, _native, behaviour, sponsor),
    do: {:error, Error.from(word, behaviour: behaviour, sponsor: sponsor)}

  @doc """
  Creates an actor of each behaviour, in their order; none of them is known to anybody if one cannot be created.

  In one call of the NIF as many as are good for a scheduler, of behaviours that differ in their captures only. What their
  captures have in common, the same term of at least 32 elements, is written once in each call.
  """
  @spec create_many(reference, [Behaviour.t()], atom) :: {:ok, [Address.t()]} | {:error, Error.t()}
  def create_many(native, behaviours, sponsor) do
    # What is no list is found on the way.
    count = if is_list(behaviours) and not List.improper?(behaviours), do: length(behaviours), else: 0
    with_room(count, fn -> many(behaviours, {native, sponsor}, []) end)
  end

  @doc "Creates a number of actors of one behaviour."
  @spec create_copies(reference, Behaviour.t(), non_neg_integer, atom) ::
          {:ok, [Address.t()]} | {:error, Error.t()}
  def create_copies(native, behaviour, count, sponsor) do
    with {:ok, behaviour} <- with_shared(native, behaviour, count),
         do: with_room(count, fn -> copies(behaviour, count, {native, sponsor}, []) end)
  end

  # What the copies of more than one batch have in common is written once for all.
  defp with_shared(_native, behaviour, count) when count <= @batch, do: {:ok, behaviour}

  defp with_shared(native, %{captures: captures} = behaviour, _count) do
    shared =
      for capture <- Tuple.to_list(captures),
          do: if(large?(capture), do: share!(native, capture), else: capture)

    {:ok, %{behaviour | captures: List.to_tuple(shared)}}
  catch
    {:error, _} = error -> error
  end

  defp large?(capture),
    do: match?([_ | _], capture) or map?(capture) or (is_tuple(capture) and tuple_size(capture) > @large)

  defp map?(capture), do: is_map(capture) and map_size(capture) > @large

  defp share!(native, value) do
    case share(native, value) do
      {:ok, shared} -> shared
      error -> throw(error)
    end
  end

  @doc "Keeps a value in the machine for all that refers to it."
  @spec share(reference, term) :: {:ok, Mote.Shared.t()} | {:error, Error.t()}
  def share(native, value) do
    case Native.share(native, value, Long.kept(value)) do
      key when is_binary(key) -> {:ok, %Mote.Shared{machine: native, key: key, value: value}}
      word -> {:error, Error.from(word, [])}
    end
  end

  # Many addresses come from a process whose heap has room for all of them from the beginning. In the caller's, which grows with
  # them, they are collected again and again, and so are their binaries, each of which is on a list of the process.
  defp with_room(count, create) when count < @many, do: create.()

  defp with_room(count, create) do
    some = min(count, @most)
    room = [min_heap_size: @words * some, min_bin_vheap_size: @binary_words * some]
    {_pid, monitor} = :erlang.spawn_opt(fn -> exit({:created, outcome(create)}) end, [:monitor | room])

    receive do
      {:DOWN, ^monitor, :process, _, {:created, {:returned, created}}} -> created
      {:DOWN, ^monitor, :process, _, {:created, {:raised, error, stack}}} -> reraise error, stack
      {:DOWN, ^monitor, :process, _, reason} -> exit(reason)
    end
  end

  defp outcome(create) do
    {:returned, create.()}
  rescue
    error -> {:raised, error, __STACKTRACE__}
  end

  defp copies(_behaviour, 0, _where, made), do: {:ok, together(made)}

  defp copies(%{captures: captures} = behaviour, count, where, made) do
    some = min(count, @batch)

    with {:ok, made} <- alike(List.duplicate(captures, some), behaviour, where, made),
         do: copies(behaviour, count - some, where, made)
  end

  defp many([], _where, made), do: {:ok, together(made)}

  defp many([%Behaviour{captures: captures} = first | _] = behaviours, where, made) when is_tuple(captures) do
    made_by_module!(first)
    %{module: module, name: name, version: version} = first
    {captures, rest} = run(behaviours, module, name, version, tuple_size(captures), @batch, [])
    with {:ok, made} <- alike(captures, first, where, made), do: many(rest, where, made)
  end

  defp many([other | _], _where, _made) do
    raise ArgumentError,
          "expected a list of behaviours, values of functions that defactor defines, such as Counter.counter(0); " <>
            "one of them is: #{inspect(other)}"
  end

  defp many(other, _where, _made) do
    raise ArgumentError, "expected a proper list of behaviours, got one that ends with #{inspect(other)}"
  end

  # The captures of the first behaviours that differ in nothing else, and the others.
  defp run(
         [%Behaviour{module: module, name: name, version: version, captures: captures} | rest],
         module,
         name,
         version,
         size,
         left,
         run
       )
       when left > 0 and tuple_size(captures) == size,
       do: run(rest, module, name, version, size, left - 1, [captures | run])

  defp run(rest, _module, _name, _version, _size, _left, run), do: {Enum.reverse(run), rest}

  # Lists of addresses, the last ones first.
  defp alike(captures, behaviour, {native, sponsor} = where, made) do
    %{module: module, name: name, version: version} = behaviour
    {keys, rest, why} = Long.batch(Native.create_many(native, module, name, version, captures, sponsor))
    made = [addresses(native, keys) | made]

    case {why, rest} do
      {:ok, []} ->
        {:ok, made}

      {:more, _} ->
        alike(rest, behaviour, where, made)

      # What a batch cannot do: load code, share a long binary that the machine does not have yet, say what is wrong.
      {_word, [captures | rest]} ->
        with {:ok, address} <- create(native, %{behaviour | captures: captures}, sponsor),
             do: alike(rest, behaviour, where, [[address] | made])
    end
  end

  defp together(made), do: made |> Enum.reverse() |> Enum.concat()

  defp made_by_module!(%{module: module, name: name, version: version} = behaviour) do
    unless is_atom(module) and is_atom(name) and is_integer(version) and version in 0..0xFFFFFFFFFFFFFFFF do
      raise ArgumentError, "the behaviour was not made by its module: #{inspect(Map.from_struct(behaviour))}"
    end
  end

  @doc """
  Loads the code of a behaviour, and runs what found that it was missing again. One that stands for the call of a
  function (`call?`) is of the version that is loaded.
  """
  @spec load(reference, Behaviour.t(), boolean, (... -> result)) :: result | {:error, Error.t()}
        when result: term
  def load(native, behaviour, call?, run) do
    with :ok <- Loader.load(native, behaviour.module),
         :ok <- if(call?, do: :ok, else: check_version(behaviour)),
         :load <- run.() do
      {:error, undefined(behaviour)}
    end
  end

  defp check_version(%{module: module, version: version} = behaviour) do
    with {:ok, [behaviours, changes, hash]} <- Loader.about(module, [:behaviours, :changes, :hash]),
         true <- {behaviour.name, tuple_size(behaviour.captures)} in (behaviours ++ changes) do
      if hash == version, do: :ok, else: {:error, stale(behaviour)}
    else
      _gone_or_without_it -> {:error, undefined(behaviour)}
    end
  end

  defp stale(%{module: module} = behaviour) do
    Error.new(
      :stale_behaviour,
      "#{inspect(behaviour)} is of another version of #{inspect(module)} than the one that is loaded: " <>
        "make it again with #{inspect(module)}.#{behaviour.name}",
      behaviour: behaviour
    )
  end

  defp undefined(%{module: module, name: name, captures: captures} = behaviour) do
    count = tuple_size(captures)

    Error.new(
      :undefined_behaviour,
      "#{inspect(module)} has no behaviour #{name} with #{count} captures",
      behaviour: behaviour
    )
  end
end
