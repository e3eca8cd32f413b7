defmodule Kino.Mermaid do
  @moduledoc "A picture that is written in the language of Mermaid. Nothing draws it here."
  defstruct [:diagram]

  @doc "Returns a widget of a picture."
  @spec new(String.t()) :: %__MODULE__{}
  def new(diagram) when is_binary(diagram), do: %__MODULE__{diagram: diagram}
end
