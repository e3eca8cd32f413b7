defmodule Mote.Behaviour.Directory do
  # `defdirectory name(captures) do key -> behaviour end`: the code of a directory's shards, made of the clauses that say which
  # behaviour belongs to which key.
  #
  #     name(captures)                    the behaviour that Elixir knows: a shard without entries
  #     "name directory"(captures, actors)  the shard; `actors` is its map of keys to addresses
  #     "name start"(key, captures)         the clauses, each of which creates; nil where there is nothing to start
  #
  # 1. A key is looked up and its actor is started in one turn of the one shard that has the key. So no key
  #    has two actors, and an aborted start leaves nothing behind.
  # 2. All messages for one key pass through one shard, in their order.
  @moduledoc false

  alias Mote.Behaviour.{Error, Syntax}

  @doc "Returns whether a behaviour is what `defdirectory` defines."
  @spec shard?(Mote.Behaviour.t()) :: boolean
  def shard?(%Mote.Behaviour{name: name}), do: String.ends_with?(Atom.to_string(name), " directory")

  @doc "The definitions that a directory consists of."
  @spec definitions(Macro.t(), Macro.t(), Macro.Env.t()) :: Macro.t()
  def definitions(head, body, env) do
    {name, meta, captures} = head(head, env)
    {shard, start} = {:"#{name} directory", :"#{name} start"}
    plain = Enum.map(captures, &without_default/1)
    clauses = body(body, env) ++ [{:->, [generated: true], [[Macro.var(:_, nil)], nil]}]

    [{_, _} | fewer] = heads = heads(captures)

    [whole | shorter] =
      for {heads, values} <- heads do
        quote do
          defactor unquote({name, meta, heads}), to: unquote(shard)(unquote_splicing(values), %{})
        end
      end

    # Shards of an older version that had fewer captures keep what they have, and get the defaults.
    changes =
      for {heads, values} <- fewer do
        quote generated: true do
          defchange unquote(shard)(unquote_splicing(heads), actors),
            do: unquote(shard)(unquote_splicing(values), actors)
        end
      end

    quote do
      unquote(whole)
      unquote_splicing(Enum.flat_map(shorter, &[quote(do: @doc(false)), &1]))

      @doc false
      unquote(shard(shard, start, plain))
      unquote_splicing(changes)

      defeffect unquote(start)(key, unquote_splicing(plain)) do
        case key, do: unquote(clauses)
      end
    end
  end

  defp shard(shard, start, captures) do
    clauses =
      sent(shard, start, captures) ++
        asked(:ask, shard, start, captures) ++ asked(:to, shard, start, captures)

    quote generated: true do
      defactor(unquote(shard)(unquote_splicing(captures), actors),
        do: unquote(clauses ++ requests(shard, start, captures))
      )
    end
  end

  defp sent(shard, start, captures) do
    quote generated: true do
      # As what is sent by key takes the least memory, and is told from requests with one look.
      [key | message] ->
        case Map.get(actors, key) do
          nil ->
            actor = unquote(start)(key, unquote_splicing(captures))
            # Where nothing was started, this is a message to nobody, and counted as such.
            send actor, message

            if actor != nil,
              do: become(unquote(shard)(unquote_splicing(captures), Map.put(actors, key, actor)))

          actor ->
            send actor, message
        end
    end
  end

  # A process that asks hears of it if the turn of the actor is aborted: the machine is told who has the question, and that is not the
  # answer. Most keys have an actor: for those there is one look into the map.
  defp asked(how, shard, start, captures) do
    told =
      if how == :ask,
        do: [quote(generated: true, do: send(customer, {Mote.Directory, :passed, actor}))],
        else: []

    pass =
      quote generated: true do
        unquote_splicing(told)
        send actor, {customer, request}
      end

    quote generated: true do
      {customer, {unquote(how), key, request}} ->
        case Map.get(actors, key) do
          nil ->
            case unquote(start)(key, unquote_splicing(captures)) do
              nil ->
                send customer, {Mote.Directory, :unknown_key}

              actor ->
                unquote(pass)
                become(unquote(shard)(unquote_splicing(captures), Map.put(actors, key, actor)))
            end

          actor ->
            unquote(pass)
        end
    end
  end

  defp requests(shard, start, captures) do
    quote generated: true do
      {customer, {:start, key}} ->
        actor = Map.get(actors, key) || unquote(start)(key, unquote_splicing(captures))
        send customer, actor

        if actor != nil and not is_map_key(actors, key),
          do: become(unquote(shard)(unquote_splicing(captures), Map.put(actors, key, actor)))

      {customer, {:whereis, key}} ->
        send customer, Map.get(actors, key)

      {customer, {:put, key, address}} when is_address(address) ->
        case Map.get(actors, key) do
          nil ->
            send customer, :ok
            become unquote(shard)(unquote_splicing(captures), Map.put(actors, key, address))

          actor ->
            send customer, {:taken, actor}
        end

      # Of many, those whose keys have an actor, with that one.
      {customer, {:put_all, entries}} ->
        send customer, for({key, _} <- entries, is_map_key(actors, key), do: {key, Map.get(actors, key)})

        become unquote(shard)(
                 unquote_splicing(captures),
                 Enum.reduce(entries, actors, fn {key, address}, all -> Map.put_new(all, key, address) end)
               )

      {customer, {:delete_all, keys}} ->
        send customer, []
        become unquote(shard)(unquote_splicing(captures), Map.drop(actors, keys))

      {customer, {:delete, key}} ->
        send customer, is_map_key(actors, key)
        become unquote(shard)(unquote_splicing(captures), Map.delete(actors, key))

      {customer, {:delete, key, address}} ->
        case Map.get(actors, key) do
          ^address ->
            send customer, true
            become unquote(shard)(unquote_splicing(captures), Map.delete(actors, key))

          _ ->
            send customer, false
        end

      {customer, {:replace, key, address, by}} when is_address(by) ->
        case Map.get(actors, key) do
          ^address ->
            send customer, true
            become unquote(shard)(unquote_splicing(captures), Map.put(actors, key, by))

          _ ->
            send customer, false
        end

      {customer, :count} ->
        send customer, map_size(actors)

      {customer, :all} ->
        send customer, actors
    end
  end

  defp head({name, meta, captures}, _) when is_atom(name) and is_list(captures), do: {name, meta, captures}
  defp head({name, meta, context}, _) when is_atom(name) and is_atom(context), do: {name, meta, []}

  defp head(other, env) do
    Error.raise_at(
      env,
      env.line,
      "cannot define #{Macro.to_string(other)}: write defdirectory name(capture) do key -> behaviour end"
    )
  end

  # The captures, and what the shard is given: all of them, then without the last one that has a default, and so on. A
  # definition that delegates cannot have defaults itself.
  defp heads(captures) do
    defaults = Enum.count(captures, &match?({:\\, _, _}, &1))

    for given <- defaults..0//-1 do
      {pairs, _} =
        Enum.map_reduce(captures, given, fn
          {:\\, _, [_, default]}, 0 -> {{nil, default}, 0}
          {:\\, _, [capture, _]}, n -> {{capture, capture}, n - 1}
          capture, n -> {{capture, capture}, n}
        end)

      {for({head, _} <- pairs, head != nil, do: head), Enum.map(pairs, &elem(&1, 1))}
    end
  end

  defp without_default({:\\, _, [capture, _]}), do: capture
  defp without_default(capture), do: capture

  defp body([do: body], env) do
    for clause <- Syntax.arrows(body, "a defdirectory", "which say what a key starts: key -> behaviour", env) do
      {:->, meta, [pattern, body]} = clause
      {:->, meta, [pattern, created(body)]}
    end
  end

  defp body(_, env), do: Error.raise_at(env, env.line, "defdirectory needs a do block")

  # What is written last is the behaviour, or a create, which may say in which sponsor.
  defp created({:__block__, meta, [_ | _] = all}),
    do: {:__block__, meta, List.update_at(all, -1, &created/1)}

  defp created(nil), do: nil

  # What chooses has a behaviour at the end of each branch.
  defp created({word, meta, [test, branches]}) when word in [:if, :unless] and is_list(branches),
    do: {word, meta, [test, for({key, body} <- branches, do: {key, created(body)})]}

  defp created({word, meta, args}) when word in [:case, :cond, :with] and args != [] do
    {args, [branches]} = Enum.split(args, -1)
    branches = for {key, body} <- branches, do: {key, chosen(body)}
    {word, meta, args ++ [branches]}
  end

  defp created({:create, _, arguments} = create) when is_list(arguments), do: create
  defp created({_, meta, _} = behaviour), do: {:create, Keyword.take(meta, [:line]), [behaviour]}
  defp created(other), do: {:create, [], [other]}

  defp chosen([{:->, _, _} | _] = clauses),
    do: for({:->, meta, [left, body]} <- clauses, do: {:->, meta, [left, created(body)]})

  defp chosen(body), do: created(body)
end
