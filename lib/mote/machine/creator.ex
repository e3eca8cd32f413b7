defmodule Mote.Machine.Creator do
  # Creating actors: brings the code of the behaviour into the machine first, if it is not there.
  @moduledoc false

  alias Mote.{Address, Behaviour, Error, Native}
  alias Mote.Machine.{Loader, Long}

  @doc "Creates an actor in a native machine, pinned to a sponsor unless that is `nil`."
  @spec create(reference, Behaviour.t(), atom) :: {:ok, Address.t()} | {:error, Error.t()}
  def create(native, behaviour, sponsor), do: create(native, behaviour, sponsor, true)

  defp create(native, behaviour, sponsor, may_load) do
    %{module: module, name: name, version: version, captures: captures} = behaviour

    unless is_atom(module) and is_atom(name) and version in 0..0xFFFFFFFFFFFFFFFF do
      raise ArgumentError, "the behaviour was not made by its module: #{inspect(Map.from_struct(behaviour))}"
    end

    answer =
      with word when word in [:big, :long] <- Native.create(native, module, name, version, captures, sponsor) do
        again = &Native.create(native, module, name, version, captures, sponsor, &1)

        Long.again(
          word,
          captures,
          again,
          &Native.create_big(native, module, name, version, captures, sponsor, &1)
        )
      end

    case answer do
      %Address{} = address ->
        {:ok, address}

      :load when may_load ->
        with :ok <- Loader.load(native, module), :ok <- check_version(behaviour) do
          create(native, behaviour, sponsor, false)
        end

      :load ->
        {:error, undefined(behaviour)}

      :no_sponsor ->
        {:error,
         Error.from(:no_sponsor,
           behaviour: behaviour,
           sponsor: sponsor,
           known: Native.machine_sponsors(native)
         )}

      word ->
        {:error, Error.from(word, behaviour: behaviour, sponsor: sponsor)}
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
    with {:ok, [behaviours, hash]} <- Loader.about(module, [:behaviours, :hash]),
         true <- {behaviour.name, tuple_size(behaviour.captures)} in behaviours do
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
