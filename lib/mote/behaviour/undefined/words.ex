defmodule Mote.Behaviour.Undefined.Words do
  # What is imported in place of Kernel's operators in a module with `errors: :undefined`.
  @moduledoc false

  import Kernel, only: [defmacro: 2]

  alias Mote.Behaviour.Undefined

  for {module, name, arity} <- Undefined.wrapped() do
    arguments = Macro.generate_arguments(arity, __MODULE__)

    defmacro unquote(name)(unquote_splicing(arguments)),
      do: Undefined.called(__CALLER__.context, unquote(module), unquote(name), unquote(arguments))
  end

  for name <- Undefined.ordered() do
    defmacro unquote(name)(a, b), do: Undefined.compared(__CALLER__.context, unquote(name), a, b)
  end

  for {name, arity} <- Undefined.conditions() do
    arguments = Macro.generate_arguments(arity, __MODULE__)

    defmacro unquote(name)(unquote_splicing(arguments)),
      do: Undefined.condition(__CALLER__.context, unquote(name), unquote(arguments))
  end
end
