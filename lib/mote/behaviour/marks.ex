defmodule Mote.Behaviour.Marks do
  # Attributes that say something about the function that follows them, such as `@deprecated`. Functions are
  # generated at the end of the module, so attributes before a definition are taken from the module, and given
  # to its functions again.
  @moduledoc false

  @names [:deprecated, :impl]

  @type t :: [{atom, term}]

  @doc "Takes the attributes before a definition. A head without a body leaves them to the clauses that follow."
  @spec take(module, boolean) :: t
  def take(module, body?) do
    for name <- @names, value = Module.get_attribute(module, name) do
      if body?, do: Module.delete_attribute(module, name)
      {name, value}
    end
  end

  @doc "The attributes as code."
  @spec code(t) :: [Macro.t()]
  def code(marks), do: for({name, value} <- marks, do: quote(do: @unquote({name, [], [value]})))
end
