defmodule World.Zone do
  @moduledoc """
  A zone knows how many are there. After each tick it tells those who watch, if that has changed since it told them last.
  """
  use Mote.Behaviour

  @doc "`watcher` is an outbox, or any other address; `told` is what it knows."
  defactor zone(number, watcher, here \\ 0, told \\ 0) do
    :came ->
      become here: here + 1

    :left ->
      become here: here - 1

    :tell when here != told ->
      send watcher, {number, here}
      become told: here

    {customer, :here} ->
      send customer, here
  end
end
