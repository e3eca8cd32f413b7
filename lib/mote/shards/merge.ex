defmodule Mote.Shards.Merge do
  # Makes one actor of two that one key has, after nodes had not seen each other for a while: on the node that has the key, where both
  # are by then. What they have become is the user's to say (`:merge` of `Mote.Shards.start_link/1`).
  #
  # 1. Both are held between two turns: so each state is merged once, and nothing that either has taken in is missing.
  # 2. The one that goes sends on to the other one what had waited for it, and what comes by its address.
  # 3. What cannot be merged is as without a merge: the actor that the key has here stays as it is.
  @moduledoc false

  require Logger

  alias Mote.{Address, Behaviour, Move}
  alias Mote.Shards.Member

  # Milliseconds to wait for an actor to stand still.
  @patience 60_000

  @typedoc "A key, the actor that it has, and the one that is to go."
  @type pair :: {term, Address.t(), Address.t()}

  @doc "Merges those of each pair, for another node; returns the keys whose second actor is dropped."
  @spec merge(atom, [pair]) :: [term]
  def merge(shards, pairs) do
    merge = Member.merge(shards)

    for {key, stays, goes} <- pairs,
        not same?(stays, goes),
        not merged?(shards, merge, key, stays, goes),
        do: key
  end

  # It was put in before by somebody who did not hear of that, and has moved it once more.
  defp same?(stays, goes) do
    with %{behaviour: %{module: Move.Ways, name: :onward, captures: {to}}} <- Mote.info(stays),
         do: to == goes,
         else: (_ -> false)
  end

  defp merged?(_shards, nil, _key, _stays, _goes), do: false

  defp merged?(shards, merge, key, stays, goes) do
    hold = Move.new_hold()

    with {:ok, into} <- held(stays, hold) do
      case with({:ok, from} <- held(goes, hold), do: become(merge, {key, into, from}, stays, hold)) do
        :ok ->
          if Move.go_on(goes, hold, stays) != :ok, do: Move.go_back([goes], hold)
          true

        why ->
          for address <- [goes, stays], do: Move.go_back([address], hold)
          not_merged(shards, key, why)
      end
    else
      why -> not_merged(shards, key, why)
    end
  end

  defp held(address, hold) do
    with {:ok, was} <- Move.hold(%{address | sponsor: nil}, hold, @patience) do
      case was do
        %Behaviour{module: Move.Ways} ->
          Move.go_back([address], hold)
          {:error, "a program has moved one of its actors away"}

        _ ->
          {:ok, was}
      end
    end
  end

  defp become(merge, {key, into, from}, stays, hold) do
    case call(merge, key, into, from) do
      %Behaviour{module: module, name: name, version: version, captures: captures} ->
        with word when word != :ok <- Move.become(stays, hold, {module, name, version}, captures),
             do: {:error, "its actor cannot become what they were merged to: #{inspect(word)}"}

      other ->
        {:error, "expected the function that merges states to return a behaviour, got: #{inspect(other)}"}
    end
  catch
    kind, reason -> {:error, Exception.format(kind, reason, __STACKTRACE__)}
  end

  defp call({module, function}, key, into, from), do: apply(module, function, [key, into, from])
  defp call(merge, key, into, from), do: merge.(key, into, from)

  defp not_merged(shards, key, {:error, why}) do
    why = if is_exception(why), do: Exception.message(why), else: why

    Logger.error(
      "the shards #{inspect(shards)} have not merged two states of the key #{inspect(key)}; one is dropped: #{why}"
    )

    false
  end
end
