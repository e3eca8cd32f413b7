defmodule Phoenix.Component.Template do
  # Makes code of a template: elements, components (`<.name>`), slots (`<:name>`), `<%= %>`, `{}` as the value of an attribute,
  # and `:if`, `:for` and `:let`. Blocks (`<%= if … do %>`) are left out.
  @moduledoc false

  @void ~w(br hr img input link meta)

  def compile(text, place) do
    {nodes, ""} = nodes(text, nil, place, [])
    quote do: {:safe, unquote(block(nodes))}
  end

  # -- reading: text, {:code, code} and {:tag, name, attributes, nodes} ----------------------------------------

  defp nodes("", nil, _place, done), do: {Enum.reverse(done), ""}
  defp nodes("", open, place, _done), do: raise("#{place}: <#{open}> has no end")

  defp nodes("<%=" <> rest, open, place, done) do
    [code, rest] = String.split(rest, "%>", parts: 2)
    nodes(rest, open, place, [{:code, code} | done])
  end

  defp nodes("</" <> rest, open, place, done) do
    [name, rest] = String.split(rest, ">", parts: 2)
    if name == open, do: {Enum.reverse(done), rest}, else: raise("#{place}: </#{name}> ends <#{open}>")
  end

  defp nodes("<" <> rest, open, place, done) do
    [name, rest] = Regex.run(~r/\A([.:\w-]+)(.*)\z/s, rest, capture: :all_but_first)
    {attributes, ending, rest} = attributes(String.trim_leading(rest), [])
    {inner, rest} = if ending == "/>" or name in @void, do: {[], rest}, else: nodes(rest, name, place, [])
    nodes(rest, open, place, [{:tag, name, attributes, inner} | done])
  end

  defp nodes(text, open, place, done) do
    [text, rest] = Regex.run(~r/\A([^<]+)(.*)\z/s, text, capture: :all_but_first)
    nodes(rest, open, place, [text | done])
  end

  defp attributes("/>" <> rest, done), do: {Enum.reverse(done), "/>", rest}
  defp attributes(">" <> rest, done), do: {Enum.reverse(done), ">", rest}

  defp attributes(text, done) do
    [name, rest] = Regex.run(~r/\A([:\w-]+)(.*)\z/s, text, capture: :all_but_first)
    {value, rest} = value(rest)
    attributes(String.trim_leading(rest), [{name, value} | done])
  end

  defp value("=\"" <> rest) do
    [value, rest] = String.split(rest, "\"", parts: 2)
    {value, rest}
  end

  defp value("={" <> rest), do: code(rest, "", 0)
  defp value(rest), do: {true, rest}

  # Up to the brace that ends it.
  defp code("}" <> rest, code, 0), do: {{:code, code}, rest}

  defp code(<<char::utf8, rest::binary>>, code, depth) do
    depth = depth + Map.get(%{?{ => 1, ?} => -1}, char, 0)
    code(rest, <<code::binary, char::utf8>>, depth)
  end

  # -- writing -------------------------------------------------------------------------------------------------

  defp block(nodes), do: Enum.map(nodes, &piece/1)

  defp piece(text) when is_binary(text), do: text
  defp piece({:code, _} = code), do: quote(do: Phoenix.Component.__text__(unquote(quoted(code))))

  defp piece({:tag, name, attributes, inner}) do
    {special, attributes} = Enum.split_with(attributes, fn {name, _} -> String.starts_with?(name, ":") end)
    repeated(element(name, attributes, inner), Map.new(special))
  end

  defp repeated(code, special) do
    case special do
      %{":for" => each, ":if" => condition} ->
        quote do: for(unquote(quoted(each)), unquote(quoted(condition)), do: unquote(code))

      %{":for" => each} ->
        quote do: for(unquote(quoted(each)), do: unquote(code))

      %{":if" => condition} ->
        quote do: if(unquote(quoted(condition)), do: unquote(code), else: [])

      _ ->
        code
    end
  end

  defp element("." <> component, attributes, inner) do
    {slots, inner} = Enum.split_with(inner, &match?({:tag, ":" <> _, _, _}, &1))
    blank? = Enum.all?(inner, &(is_binary(&1) and String.trim(&1) == ""))
    default = if blank?, do: [], else: [slot(":inner_block", [], inner)]

    slots =
      Enum.group_by(
        default ++ Enum.map(slots, fn {:tag, name, its, inner} -> slot(name, its, inner) end),
        &elem(&1, 0),
        &elem(&1, 1)
      )

    assigns = {:%{}, [], [__changed__: nil] ++ pairs(attributes) ++ Enum.to_list(slots)}
    quote do: Phoenix.Component.__text__(unquote({String.to_atom(component), [], [assigns]}))
  end

  defp element(name, attributes, inner) do
    attributes =
      for {name, value} <- attributes,
          do: quote(do: Phoenix.Component.__attribute__(unquote(name), unquote(quoted(value))))

    ending = if name in @void, do: "", else: "</#{name}>"
    ["<#{name}", attributes, ">", block(inner), ending]
  end

  defp slot(":" <> name, attributes, inner) do
    {special, attributes} = Enum.split_with(attributes, fn {name, _} -> name == ":let" end)
    argument = with [{_, pattern}] <- special, do: quoted(pattern), else: ([] -> {:_, [], nil})
    function = {:fn, [], [{:->, [], [[argument], block(inner)]}]}
    # As in the real package, a slot without anything inside has no function.
    function = if inner == [], do: nil, else: function
    name = String.to_atom(name)
    {name, {:%{}, [], [__slot__: name, inner_block: function] ++ pairs(attributes)}}
  end

  defp pairs(attributes), do: for({name, value} <- attributes, do: {String.to_atom(name), quoted(value)})

  # `@name` is what the assigns have under that name.
  defp quoted({:code, code}) do
    code
    |> Code.string_to_quoted!()
    |> Macro.prewalk(fn
      {:@, _, [{name, _, context}]} when is_atom(name) and is_atom(context) ->
        quote do: Map.fetch!(unquote({:assigns, [], nil}), unquote(name))

      other ->
        other
    end)
  end

  defp quoted(value), do: value
end
