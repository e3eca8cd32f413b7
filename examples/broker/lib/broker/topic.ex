defmodule Broker.Topic do
  # The trie: an actor for each level of a topic or a filter, "+" and "#" among them. It knows who has subscribed there, and
  # keeps the retained message.
  #
  #     {:publish, message}                              to the root: to all whose filter fits
  #     {:change, levels, change, customer}              subscribe, unsubscribe, retain; the customer gets `:changed`
  #     {:kept, levels, session, options}                sends the session all retained messages that fit the filter
  #
  # Sessions get `{:deliver, message, options, kept}`.
  #
  # Invariants:
  # 1. A topic that knows nobody, keeps nothing and has nothing below it is let go of by the one above. Both count the changes
  #    that went down: where the counts differ, one is on its way, and the topic stays. What is published meanwhile may be lost on
  #    the way: nobody is there to get it.
  # 2. Wildcards of the first level do not stand for what begins with "$".
  # 3. Each message goes to one member of a group, in turn.
  @moduledoc false
  use Mote.Behaviour

  @doc "The root of an empty trie."
  defactor root(), to: Broker.Topic.topic(nil, 0, %{}, %{}, %{}, nil)

  # `place`: the topic above, and the level that this one is there. `changes`: how many have come. `below`: by level, the topic
  # and how many changes it was sent. `sessions`: their options. `groups`: a queue of members each.
  @doc false
  defactor topic(place, changes, below, sessions, groups, retained) do
    {:publish, message} ->
      if message.retain, do: send(self(), {:change, message.levels, {:retain, message}, nil})
      go_on(place, below, message.levels, message)

    {:publish, [], message} ->
      Enum.each(sessions, fn {session, options} -> send session, {:deliver, message, options, false} end)
      down(below, "#", {:publish, [], message})

      if groups != %{},
        do: become(groups: for({name, members} <- groups, into: %{}, do: {name, one(members, message)}))

    {:publish, levels, message} ->
      go_on(place, below, levels, message)

    {:change, [], change, customer} ->
      if customer, do: send(customer, :changed)

      case change do
        {:subscribe, nil, session, options} ->
          become changes: changes + 1, sessions: Map.put(sessions, session, options)

        {:subscribe, group, session, options} ->
          members = :queue.in({session, options}, without(groups[group], session))
          become changes: changes + 1, groups: Map.put(groups, group, members)

        {:retain, %{payload: payload} = message} when payload != "" ->
          if message.expires, do: send_after(1_000 * message.lasts, self(), {:expired, message})
          become changes: changes + 1, retained: message

        {:retain, _} ->
          if below == %{} and sessions == %{} and groups == %{}, do: let_go(place, changes + 1)
          become changes: changes + 1, retained: nil

        {:unsubscribe, nil, session} ->
          sessions = Map.delete(sessions, session)
          if empty?(below, sessions, groups, retained), do: let_go(place, changes + 1)
          become changes: changes + 1, sessions: sessions

        {:unsubscribe, group, session} ->
          members = without(groups[group], session)

          groups =
            if :queue.is_empty(members), do: Map.delete(groups, group), else: Map.put(groups, group, members)

          if empty?(below, sessions, groups, retained), do: let_go(place, changes + 1)
          become changes: changes + 1, groups: groups
      end

    {:change, [level | rest], change, customer} ->
      case below do
        %{^level => {topic, sent}} ->
          send topic, {:change, rest, change, customer}
          become changes: changes + 1, below: Map.put(below, level, {topic, sent + 1})

        _ ->
          if adds?(change) do
            topic = create topic({self(), level}, 0, %{}, %{}, %{}, nil)
            send topic, {:change, rest, change, customer}
            become changes: changes + 1, below: Map.put(below, level, {topic, 1})
          else
            if customer, do: send(customer, :changed)
            become changes: changes + 1
          end
      end

    {:let_go, level, topic, seen} ->
      case below do
        %{^level => {^topic, ^seen}} ->
          below = Map.delete(below, level)
          if empty?(below, sessions, groups, retained), do: let_go(place, changes)
          become below: below

        _ ->
          :stays
      end

    {:expired, message} when message == retained ->
      if empty?(below, sessions, groups, nil), do: let_go(place, changes)
      become retained: nil

    {:kept, [], session, options} ->
      if retained != nil, do: send(session, {:deliver, retained, options, true})

    {:kept, ["#"], session, options} ->
      if retained != nil, do: send(session, {:deliver, retained, options, true})
      all(place, below, {:kept, ["#"], session, options})

    {:kept, ["+" | rest], session, options} ->
      all(place, below, {:kept, rest, session, options})

    {:kept, [level | rest], session, options} ->
      down(below, level, {:kept, rest, session, options})
  end

  # A message on its way: to the topic of its next level, and to wildcards.
  defeffect go_on(place, below, [level | rest], message) do
    down(below, level, {:publish, rest, message})

    unless place == nil and hidden?(level) do
      down(below, "+", {:publish, rest, message})
      down(below, "#", {:publish, [], message})
    end
  end

  defeffect down(below, level, message) do
    case below do
      %{^level => {topic, _}} -> send topic, message
      _ -> :nobody
    end
  end

  defeffect all(place, below, message) do
    Enum.each(below, fn {level, {topic, _}} ->
      if place != nil or not hidden?(level), do: send(topic, message)
    end)
  end

  # The next member gets a message, and is the last one then.
  defeffect one(members, message) do
    {{:value, {session, options} = member}, members} = :queue.out(members)
    send session, {:deliver, message, options, false}
    :queue.in(member, members)
  end

  defeffect let_go(nil, _changes), do: :root
  defeffect let_go({above, level}, changes), do: send(above, {:let_go, level, self(), changes})

  defpurep empty?(below, sessions, groups, retained),
    do: below == %{} and sessions == %{} and groups == %{} and retained == nil

  defpurep without(nil, _session), do: :queue.new()

  defpurep without(members, session),
    do: members |> :queue.to_list() |> List.keydelete(session, 0) |> :queue.from_list()

  defpurep hidden?("$" <> _), do: true
  defpurep hidden?(_), do: false

  # Nothing has to be made for what takes something away.
  defpurep adds?({:subscribe, _, _, _}), do: true
  defpurep adds?({:retain, message}), do: message.payload != ""
  defpurep adds?(_), do: false
end
