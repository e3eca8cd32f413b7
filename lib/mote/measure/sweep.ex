defmodule Mote.Measure.Sweep do
  @moduledoc """
  Asks services for each of a list of parameters, one question after the other.

      iex> defmodule Doc.Square do
      ...>   use Mote.Behaviour, errors: :undefined
      ...>   defactor square do
      ...>     {customer, n} -> send customer, n * n
      ...>   end
      ...> end
      iex> {:ok, machine} = Mote.start_link()
      iex> square = Mote.create(machine, Doc.Square.square())
      iex> sweep = Mote.create(machine, Mote.Measure.Sweep.sweep([here: square], self()))
      iex> Mote.ask!(sweep, [2, 3])
      [{2, :here, 4}, {3, :here, 9}]
      iex> receive do {:measured, 2, :here, 4, left} -> left end
      1

  `services` is a list of `{name, service}`; all are asked for a parameter before the next one, so that whatever happens
  to the computer meanwhile happens to all. The watcher, an actor or a process, is notified of every answer, `{:measured,
  parameter, name, answer, questions that are left}`; without one it is `:undefined`.
  """
  use Mote.Behaviour, errors: :undefined

  @doc "Answers `{customer, parameters}` with `[{parameter, name, answer}]`."
  defactor sweep(services, watcher) do
    {customer, parameters} when is_list(parameters) ->
      questions = for parameter <- parameters, {name, service} <- services, do: {parameter, name, service}

      case questions do
        [] ->
          send customer, []

        [{parameter, _, service} | _] ->
          send service, {create(walk(customer, watcher, questions, [])), parameter}
      end
  end

  @doc false
  defactor walk(customer, watcher, questions, rows) do
    answer ->
      [{parameter, name, _} | left] = questions
      rows = [{parameter, name, answer} | rows]
      if watcher != :undefined, do: send(watcher, {:measured, parameter, name, answer, length(left)})

      case left do
        [] ->
          send customer, Enum.reverse(rows)
          become sink()

        [{next, _, service} | _] ->
          become walk(customer, watcher, left, rows)
          send service, {self(), next}
      end
  end
end
