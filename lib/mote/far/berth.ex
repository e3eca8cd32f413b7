defmodule Mote.Far.Berth do
  # Decides which porter may work for a node, and keeps what was taken in from there last.
  #
  # 1. One porter at a time works for a node. A connection that ends may leave its porter waiting for a full sponsor, with
  #    parcels behind it. The porter of the next connection waits until that one has taken in all of them, and welcomes
  #    its courier only then. So no message overtakes an earlier one, and no message that has come is thrown away.
  # 2. So at most one porter of a node has parcels that it cannot take in. A courier that was not welcomed has sent none, and when it
  #    ends, so does the porter that waits for it.
  # 3. A parcel counts as taken in when all of it is, by the number and the courier that it had. The next courier of that node is told,
  #    and knows what has become of all that was on its way.
  @moduledoc false

  @spec new() :: :ok
  def new do
    :ets.new(__MODULE__, [:named_table, :public, read_concurrency: true])
    :ok
  end

  @doc "Gives the place to the calling process, unless a porter has it: then returns that one, which may have ended."
  @spec take(node) :: :ok | {:taken, pid}
  def take(node) do
    if :ets.insert_new(__MODULE__, {node, self(), nil}) or vacant(node, nil) do
      :ok
    else
      with nil <- :ets.lookup_element(__MODULE__, node, 2), do: take(node), else: (porter -> {:taken, porter})
    end
  end

  @doc "The process that had the place has ended; gives it to the calling one, unless another has it by now."
  @spec take_over(node, pid) :: :ok | {:taken, pid}
  def take_over(node, ended), do: if(vacant(node, ended), do: :ok, else: take(node))

  # From what it was, in one step.
  defp vacant(node, was) do
    swap = [{{:"$1", was, :"$2"}, [{:"=:=", :"$1", node}], [{{:"$1", self(), :"$2"}}]}]
    :ets.select_replace(__MODULE__, swap) == 1
  end

  @doc "Leaves the place."
  @spec leave(node) :: :ok
  def leave(node) do
    if match?([{_, porter, _}] when porter == self(), :ets.lookup(__MODULE__, node)),
      do: :ets.update_element(__MODULE__, node, {2, nil})

    :ok
  end

  @doc "The porters that have a place, by node. One that has ended has none."
  @spec porters() :: %{node => pid}
  def porters do
    for {node, porter, _} <- :ets.tab2list(__MODULE__),
        porter != nil and Process.alive?(porter),
        into: %{},
        do: {node, porter}
  end

  @doc "A parcel of a courier was taken in, by the process that has the place of its node."
  @spec taken(pid, pos_integer) :: :ok
  def taken(courier, number) do
    :ets.update_element(__MODULE__, node(courier), {3, {courier, number}})
    :ok
  end

  @doc "The courier of which a parcel was taken in last, and the number of that parcel."
  @spec last(node) :: {pid, pos_integer} | nil
  def last(node), do: :ets.lookup_element(__MODULE__, node, 3)
end
