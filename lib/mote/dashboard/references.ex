defmodule Mote.Dashboard.References do
  # The things that a page may ask about, by ids that it is given with its data: addresses of actors, and
  # behaviours.
  #
  # 1. An id is random and means something only here. So nothing that a browser sends is made into a term.
  # 2. There are at most `@most` of them. Beyond that the least recently used ones are forgotten.
  # 3. An address keeps its actor alive, so all are forgotten when none has been used for `@forgotten`
  #    milliseconds.
  @moduledoc false

  use GenServer

  @most 1_000
  @forgotten 120_000

  @spec start_link(keyword) :: GenServer.on_start()
  def start_link(opts \\ []) do
    GenServer.start_link(__MODULE__, {opts[:most] || @most, opts[:forgotten] || @forgotten})
  end

  @doc "An id for each of the terms: the one that it has, if it has one."
  @spec put(pid, [term]) :: [String.t()]
  def put(references, terms), do: GenServer.call(references, {:put, terms})

  @doc "Returns the thing that an id stands for."
  @spec fetch(pid, term) :: {:ok, term} | :error
  def fetch(references, id), do: GenServer.call(references, {:fetch, id})

  @impl GenServer
  def init({most, forgotten}) do
    {:ok, empty(%{most: most, forgotten: forgotten})}
  end

  # `uses` counts, and stands beside an id as its last use.
  defp empty(state), do: Map.merge(state, %{ids: %{}, terms: %{}, uses: 0})

  @impl GenServer
  def handle_call({:put, terms}, _from, state) do
    {ids, state} = Enum.map_reduce(terms, state, &id/2)
    {:reply, ids, bounded(state), state.forgotten}
  end

  def handle_call({:fetch, id}, _from, state) do
    case state.terms do
      %{^id => {term, _}} -> {:reply, {:ok, term}, used(state, id, term), state.forgotten}
      _ -> {:reply, :error, state, state.forgotten}
    end
  end

  @impl GenServer
  # Hibernating collects the process: the machine is told of addresses that are gone only then.
  def handle_info(:timeout, state), do: {:noreply, empty(state), :hibernate}

  use Mote.Internal.Stray

  defp id(term, state) do
    case state.ids do
      %{^term => id} ->
        {id, used(state, id, term)}

      _ ->
        id = Base.url_encode64(:crypto.strong_rand_bytes(12))
        {id, used(put_in(state.ids[term], id), id, term)}
    end
  end

  defp used(state, id, term) do
    %{state | terms: Map.put(state.terms, id, {term, state.uses}), uses: state.uses + 1}
  end

  # Down to half at once, so that sorting costs little for each.
  defp bounded(%{most: most, terms: terms} = state) when map_size(terms) > most do
    kept = terms |> Enum.sort_by(fn {_, {_, use}} -> -use end) |> Enum.take(max(div(most, 2), 1))
    %{state | terms: Map.new(kept), ids: Map.new(kept, fn {id, {term, _}} -> {term, id} end)}
  end

  defp bounded(state), do: state

  defp who(_state), do: "the references #{inspect(self())} of a dashboard"
end
