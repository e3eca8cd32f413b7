defmodule Mote.Generators.Starter do
  @moduledoc """
  Sends the first messages of a generated program in one turn, so that their order does not depend on who is faster.
  """
  use Mote.Behaviour, errors: :undefined

  defactor starter() do
    messages when is_list(messages) -> for {target, message} <- messages, do: send(target, message)
  end
end
