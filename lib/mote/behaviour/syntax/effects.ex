defmodule Mote.Behaviour.Syntax.Effects do
  # `send`, `sendx`, `send_after` and `monitor`, and the sponsor of a `create`. A literal operand can be seen to be of
  # the wrong kind: most likely the order is that of another function, and the message would be lost silently.
  # The values of variables are not looked at: sends to something that is not an address are counted when they
  # happen.
  @moduledoc false

  alias Mote.Behaviour.{Error, Syntax}

  # Milliseconds that a machine can count.
  @most_milliseconds 0x3FFFFFFFFFFFFFFF

  @usage [
    send: "send takes target, message",
    sendx: "sendx takes sponsor, target, message",
    send_after: "send_after takes milliseconds, target, message",
    monitor: "monitor takes process, message, or process, target, message",
    create: "create takes a behaviour, sponsor: name",
    gather: "gather takes customer, count, initial, function"
  ]

  @doc "`send target, message`."
  def send(target, message, env),
    do: {:send, env.line, target(:send, target, env), Syntax.expr(message, env)}

  @doc "`Mote.Directory.send(directory, key, message)`, from the directory, the key and the message."
  def send_to_key([directory, key, message], env) do
    {name, counter} = Syntax.fresh(:key)
    variable = {name, [counter: counter], nil}

    sent =
      quote do
        unquote(variable) = unquote(key)

        send Mote.Directory.Place.shard(unquote(directory), unquote(variable)),
             [unquote(variable) | unquote(message)]
      end

    Syntax.expr(sent, env)
  end

  @doc "`sendx sponsor, target, message`."
  def sendx(sponsor, target, message, env) do
    sponsor = sponsor(:sendx, sponsor, env)
    {:sendx, env.line, sponsor, target(:sendx, target, env), Syntax.expr(message, env)}
  end

  @doc "`send_after(milliseconds, target, message)`."
  def send_after(milliseconds, target, message, env) do
    milliseconds = milliseconds(milliseconds, env)
    {:send_after, env.line, milliseconds, target(:send_after, target, env), Syntax.expr(message, env)}
  end

  @doc "`monitor(process, target, message)`."
  def monitor(process, target, message, env) do
    what = "a process, which is a pid (an actor tells its own end, by a message)"
    pid = operand(:monitor, process, env, what, fn _literal -> false end)
    if elem(pid, 0) in [:self, :create], do: refuse(:monitor, Macro.to_string(process), what, env)
    {:monitor, env.line, pid, target(:monitor, target, env), Syntax.expr(message, env)}
  end

  @doc "The customer of a `gather`."
  def customer(customer, env), do: target(:gather, customer, env)

  @doc "The count of a `gather`."
  def count(count, env) do
    what = "a number of messages, which is an integer from 0"
    operand(:gather, count, env, what, &(is_integer(&1) and &1 >= 0))
  end

  @doc "The sponsor of a `sendx` or a `create`."
  def sponsor(effect, ast, env) do
    operand(effect, ast, env, "a sponsor, which has an atom as its name", &is_atom/1)
  end

  defp milliseconds(ast, env) do
    what = "a delay, which is a number of milliseconds from 0 to 2^62 - 1"
    milliseconds = operand(:send_after, ast, env, what, &(is_integer(&1) and &1 in 0..@most_milliseconds))
    if elem(milliseconds, 0) in [:self, :create], do: refuse(:send_after, Macro.to_string(ast), what, env)
    milliseconds
  end

  # A name of a process would be one in plain Elixir.
  defp target(effect, ast, env) do
    what = "a target, which is an address, a customer or a pid (not the name of a process)"
    operand(effect, ast, env, what, fn _literal -> false end)
  end

  # What is put together out of parts is as little of it as what is all literal.
  defp operand(effect, ast, env, what, valid?) do
    case Syntax.expr(ast, env) do
      {:lit, _, value} = literal ->
        if valid?.(value), do: literal, else: refuse(effect, inspect(value), what, env)

      {:cons, _, _, _} ->
        refuse(effect, Macro.to_string(ast), what, env)

      {:tuple, _, _} ->
        refuse(effect, Macro.to_string(ast), what, env)

      {:op, _, made, _} when made in [:map_of, :bin_of] ->
        refuse(effect, Macro.to_string(ast), what, env)

      other ->
        other
    end
  end

  defp refuse(effect, text, what, env),
    do: Error.raise_at(env, env.line, "#{@usage[effect]}: #{text} is not #{what}")
end
