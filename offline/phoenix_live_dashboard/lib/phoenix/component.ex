defmodule Phoenix.LiveView.Socket do
  @moduledoc "The state of a page."
  defstruct assigns: %{__changed__: %{}}
end

defmodule Phoenix.Component do
  @moduledoc """
  Templates (`~H`) with components and slots. Here a template is text at once, `{:safe, iodata}`; in the real package it knows which
  of its parts have changed.
  """

  alias Phoenix.LiveView.Socket

  defmacro __using__(_opts) do
    quote do: import(Phoenix.Component)
  end

  @doc "A template of the variable `assigns`."
  defmacro sigil_H({:<<>>, meta, [text]}, _modifiers) do
    Phoenix.Component.Template.compile(text, "#{__CALLER__.file}:#{meta[:line]}")
  end

  @doc "Stores keys with their values in a socket, or in the assigns of a component."
  def assign(%Socket{} = socket, assigns), do: %{socket | assigns: Enum.into(assigns, socket.assigns)}
  def assign(%{} = old, assigns), do: Enum.into(assigns, old)
  def assign(socket_or_assigns, key, value), do: assign(socket_or_assigns, [{key, value}])

  @doc "What is inside a slot, or inside all of a list of slots."
  def render_slot(slots, argument \\ nil)

  def render_slot(slots, argument) when is_list(slots),
    do: {:safe, for(slot <- slots, do: inner(slot, argument))}

  def render_slot(slot, argument), do: {:safe, inner(slot, argument)}

  defp inner(slot, argument), do: slot.inner_block.(argument)

  @doc false
  def __text__({:safe, text}), do: text
  def __text__(list) when is_list(list), do: Enum.map(list, &__text__/1)
  def __text__(other), do: other |> to_string() |> __escape__()

  @doc false
  def __attribute__(_name, none) when none in [nil, false], do: []
  def __attribute__(name, true), do: [" ", name]
  def __attribute__(name, value), do: [" ", name, "=\"", __text__(value), "\""]

  defp __escape__(text) do
    for <<char::binary-1 <- text>>,
      do:
        Map.get(%{"<" => "&lt;", ">" => "&gt;", "&" => "&amp;", "\"" => "&quot;", "'" => "&#39;"}, char, char)
  end
end

defmodule Phoenix.LiveViewTest do
  @moduledoc "A template as text."
  def rendered_to_string({:safe, text}), do: IO.iodata_to_binary(text)
end
