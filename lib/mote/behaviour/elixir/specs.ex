defmodule Mote.Behaviour.Elixir.Specs do
  # The specs of the module's private functions, `defpurep` and `defeffect`: Elixir knows these by another
  # name, so the specs get that name, too. Part of the pass to Elixir.
  @moduledoc false

  alias Mote.Behaviour.Code

  @doc "The specs of a module once more: those of `own` functions with their other names, if they are `called` at all."
  @spec moved([{atom, arity}], [{atom, arity}], Macro.Env.t()) :: [Macro.t()]
  def moved(own, called, %{module: module}) do
    specs = module |> Module.get_attribute(:spec) |> Enum.reverse()

    # Nothing that nobody asks for: what Elixir keeps of a spec is its own business.
    if Enum.any?(specs, fn {_, spec, _} -> function(spec) in own end) do
      Module.delete_attribute(module, :spec)

      for {:spec, spec, _} <- specs,
          function(spec) not in (own -- called),
          do: {:@, line(spec), [{:spec, line(spec), [renamed(spec, own)]}]}
    else
      []
    end
  end

  defp line({_, meta, _}), do: Keyword.take(meta, [:line])

  defp function({:when, _, [spec, _]}), do: function(spec)
  defp function({:"::", _, [{name, _, args}, _]}) when is_list(args), do: {name, length(args)}
  defp function({:"::", _, [{name, _, _}, _]}), do: {name, 0}
  defp function(_), do: nil

  defp renamed({:when, meta, [spec, types]}, own), do: {:when, meta, [renamed(spec, own), types]}

  defp renamed({:"::", meta, [{name, at, args}, type]} = spec, own) do
    if function(spec) in own,
      do: {:"::", meta, [{Code.hidden(name), at, args || []}, type]},
      else: spec
  end

  defp renamed(spec, _), do: spec
end
