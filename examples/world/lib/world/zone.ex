defmodule World.Zone do
  @moduledoc "A zone knows how many are there, and tells those who watch after each tick."
  use Mote.Behaviour

  @doc "`me` is `{number, watcher}`: the watcher is an outbox, or any other address. What changes is apart, so that it is small."
  defactor zone(me, here \\ 0) do
    :came -> become here: here + 1
    :left -> become here: here - 1
    :tell -> send elem(me, 1), {elem(me, 0), here}
    {customer, :here} -> send customer, here
  end
end
