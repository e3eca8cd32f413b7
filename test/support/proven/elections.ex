defmodule Mote.Proven.Elections do
  # The election of a leader by Raft (Ongaro and Ousterhout, "In search of an understandable consensus algorithm", 2014), without the log: whoever
  # hears nothing for some time asks all others for their votes in a new term. Each may ask so many times, so there is an end. Wrong: a vote is
  # forgotten, so the same term has two of the same voter.
  @moduledoc false

  defmodule Raft do
    use Mote.Behaviour

    defactor new(tries, wrong) do
      {:peers, peers} ->
        become follower(peers, 0, nil, tries, if(tries > 0, do: send_after(10, self(), :timeout)), wrong)

      _early ->
        stash()
    end

    # `voted`: whom it has its vote given in that term.
    defactor follower(peers, term, voted, tries, timer, wrong) do
      :timeout when tries > 0 ->
        for peer <- peers, do: send(peer, {self(), {:vote, term + 1}})

        become candidate(
                 peers,
                 term + 1,
                 1,
                 tries - 1,
                 if(tries > 1, do: send_after(10, self(), :timeout)),
                 wrong
               )

      {from, {:vote, t}} when t > term or (t == term and (voted == nil or voted == from or wrong)) ->
        send from, {:granted, t}
        if timer, do: cancel_timer(timer)
        become follower(peers, t, from, tries, if(tries > 0, do: send_after(10, self(), :timeout)), wrong)

      {:leads, t} when t > term ->
        become follower(peers, t, nil, tries, timer, wrong)

      _other ->
        :ok
    end

    defactor candidate(peers, term, votes, tries, timer, wrong) do
      {:granted, t} when t == term and votes + 1 > div(length(peers) + 1, 2) ->
        if timer, do: cancel_timer(timer)
        for peer <- peers, do: send(peer, {:leads, term})
        become leader(peers, term, tries, wrong)

      {:granted, t} when t == term ->
        become candidate(peers, term, votes + 1, tries, timer, wrong)

      :timeout when tries > 0 ->
        for peer <- peers, do: send(peer, {self(), {:vote, term + 1}})

        become candidate(
                 peers,
                 term + 1,
                 1,
                 tries - 1,
                 if(tries > 1, do: send_after(10, self(), :timeout)),
                 wrong
               )

      {from, {:vote, t}} when t > term ->
        send from, {:granted, t}
        if timer, do: cancel_timer(timer)
        become follower(peers, t, from, tries, if(tries > 0, do: send_after(10, self(), :timeout)), wrong)

      # It has voted for itself.
      {:leads, t} when t >= term ->
        become follower(peers, t, self(), tries, timer, wrong)

      _other ->
        :ok
    end

    defactor leader(peers, term, tries, wrong) do
      {from, {:vote, t}} when t > term ->
        send from, {:granted, t}
        become follower(peers, t, from, tries, if(tries > 0, do: send_after(10, self(), :timeout)), wrong)

      {:leads, t} when t > term ->
        become follower(peers, t, nil, tries, if(tries > 0, do: send_after(10, self(), :timeout)), wrong)

      _other ->
        :ok
    end
  end

  @doc "Nodes, each of which may ask so many times to be elected."
  def raft(machine, tries, opts \\ []) do
    nodes = for tries <- tries, do: Mote.create(machine, Raft.new(tries, opts[:wrong] || false))
    for node <- nodes, do: Mote.send(node, {:peers, nodes -- [node]})
    nodes
  end

  @doc "What is to be true always: no term has two leaders."
  def one_for_each_term?(states) do
    terms = for {:leader, _peers, term, _tries, _wrong} <- states, do: term
    terms == Enum.uniq(terms)
  end
end
