defmodule Mote.Xml do
  @moduledoc """
  Reads the XML that plots are made of, for tests of whether it is well formed: elements, attributes, text and the entities
  that every XML has. Whatever else there may be in XML is not well formed here.

  The reader of OTP is an application of its own, which not every machine has.
  """

  @type element :: {name :: String.t(), %{String.t() => String.t()}, [element | String.t()]}

  @name "[A-Za-z_][A-Za-z0-9_:.-]*"
  @entities %{"lt" => "<", "gt" => ">", "amp" => "&", "quot" => "\"", "apos" => "'", "#39" => "'"}

  @doc "The one element that the text consists of; raises where it is not well formed."
  @spec parse!(String.t()) :: element
  def parse!(text) do
    {:ok, [element]} = text |> String.trim() |> content([{nil, %{}, []}])
    element
  end

  @doc "All texts in an element, in order, without the space around them."
  @spec texts(element) :: [String.t()]
  def texts({_, _, children}) do
    Enum.flat_map(children, fn
      text when is_binary(text) -> Enum.reject([String.trim(text)], &(&1 == ""))
      element -> texts(element)
    end)
  end

  # The elements that are open, the innermost first, with their children in reverse.
  defp content("", [{nil, _, children}]), do: {:ok, Enum.reverse(children)}
  defp content("", [{open, _, _} | _]), do: raise(ArgumentError, "<#{open}> has no end")

  defp content(text, open) do
    case Regex.named_captures(token(), text) do
      nil -> raise ArgumentError, "not well formed: #{String.slice(text, 0, 80)}"
      token -> content(token["rest"], step(token, open))
    end
  end

  defp token do
    tag = "<(?<close>/)?(?<name>#{@name})(?<attributes>(?:\\s+#{@name}=\"[^<\"]*\")*)\\s*(?<empty>/)?>"
    Regex.compile!("\\A(?:#{tag}|(?<text>[^<]+))(?<rest>.*)\\z", "su")
  end

  defp step(%{"text" => text}, open) when text != "", do: child(open, unescape(text))

  defp step(%{"close" => "/", "name" => name, "attributes" => "", "empty" => ""}, [element, outer | open]) do
    {^name, attributes, children} = element
    child([outer | open], {name, attributes, Enum.reverse(children)})
  end

  defp step(%{"close" => "", "empty" => "/"} = token, open),
    do: child(open, {token["name"], attributes(token), []})

  defp step(%{"close" => ""} = token, open), do: [{token["name"], attributes(token), []} | open]

  defp child([{name, attributes, children} | open], child),
    do: [{name, attributes, [child | children]} | open]

  defp attributes(%{"attributes" => text}) do
    pairs = for [_, name, value] <- Regex.scan(~r/(\S+)="([^"]*)"/, text), do: {name, unescape(value)}
    attributes = Map.new(pairs)
    # No name twice.
    true = map_size(attributes) == length(pairs)
    attributes
  end

  defp unescape(text) do
    # An ampersand is the beginning of an entity that there is.
    Regex.replace(~r/&([^;]*;?)/, text, fn _, entity ->
      Map.fetch!(@entities, String.trim_trailing(entity, ";"))
    end)
  end
end
