defmodule Mote.Behaviour.Written do
  # A definition between the expansion of its macro and the moment at which the module's body gets there. What is written in the
  # module's body is compiled before it runs; so the body has only the number of a definition, and its code and environment,
  # which are large, are kept with the module. Elixir does the same for `def`.
  @moduledoc false

  @doc "Keeps what a macro was given, in that environment. Returns the number by which it is `fetch!/2`ed."
  @spec keep(term, Macro.Env.t()) :: pos_integer
  def keep(written, %{module: module}) do
    number = Module.get_attribute(module, :mote_written, 0) + 1
    Module.put_attribute(module, :mote_written, number)
    Module.put_attribute(module, attribute(number), written)
    number
  end

  @doc "Returns the kept definition, as often as a loop in the module's body asks for it."
  @spec fetch!(module, pos_integer) :: term
  def fetch!(module, number), do: Module.get_attribute(module, attribute(number))

  @doc "Forgets all that a module has kept."
  @spec forget(module) :: :ok
  def forget(module) do
    for number <- 1..Module.get_attribute(module, :mote_written, 0)//1,
        do: Module.delete_attribute(module, attribute(number))

    Module.delete_attribute(module, :mote_written)
    :ok
  end

  @doc "Returns whether code has places that are filled only when the module's body gets there: `defpure unquote(name)(), do: …`."
  @spec unquotes?(Macro.t()) :: boolean
  def unquotes?({:quote, _, _}), do: true
  def unquotes?({{:., _, [_, :unquote]}, _, _}), do: true
  def unquotes?({name, _, [_]}) when name in [:unquote, :unquote_splicing], do: true
  def unquotes?({form, _, args}), do: unquotes?(form) or unquotes?(args)
  def unquotes?({a, b}), do: unquotes?(a) or unquotes?(b)
  def unquotes?([head | tail]), do: unquotes?(head) or unquotes?(tail)
  def unquotes?(_), do: false

  # As many atoms as the largest module has definitions.
  defp attribute(number), do: :"mote written #{number}"
end
