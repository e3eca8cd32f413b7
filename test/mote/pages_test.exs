defmodule Mote.PagesTest do
  # The pages of the documentation link to what has a page: nothing that is hidden, nothing that is gone.
  use ExUnit.Case, async: true

  @pages for page <- Mix.Project.config()[:docs].()[:extras],
             do: if(is_tuple(page), do: to_string(elem(page, 0)), else: page)

  # The documentation of a module and of what it exports, by where it stands.
  defp docs do
    {:ok, modules} = :application.get_key(:mote, :modules)

    for module <- modules,
        # What only tests and examples have is not published.
        to_string(module.module_info(:compile)[:source]) =~ "/lib/mote",
        {:docs_v1, _, _, _, %{"en" => about}, _, docs} <- [Code.fetch_docs(module)],
        text <- [about | for({_, _, _, %{"en" => text}, _} <- docs, do: text)],
        do: {inspect(module), text}
  end

  defp texts, do: docs() ++ for(page <- @pages -- ["CHANGELOG.md"], do: {page, File.read!(page)})

  # What is code in a line: fences are not linked.
  defp named(text, pattern) do
    text = Regex.replace(~r/^ *```.*?^ *```/ms, text, "")
    for [_, found] <- Regex.scan(~r/(?<!`)`(#{pattern})`/, text), uniq: true, do: found
  end

  test "modules that are named have a page" do
    for {where, text} <- texts(), name <- named(text, ~S"Mote(?:\.[A-Z]\w*)*") do
      assert {:docs_v1, _, _, _, about, _, _} = Code.fetch_docs(Module.concat([name])),
             "#{where} names #{name}"

      assert is_map(about), "#{where} names #{name}, which is hidden"
    end
  end

  test "functions that are named are documented" do
    for {where, text} <- texts(), name <- named(text, ~S"Mote(?:\.[A-Z]\w*)*\.[a-z]\w*[!?]?/\d") do
      [_, module, function, arity] = Regex.run(~r"^(.*)\.([^.]+)/(\d)$", name)
      {:docs_v1, _, _, _, _, _, docs} = Code.fetch_docs(Module.concat([module]))
      arity = String.to_integer(arity)

      assert Enum.any?(docs, fn {{kind, name, most}, _, _, doc, about} ->
               kind in [:function, :macro, :callback] and to_string(name) == function and doc != :hidden and
                 arity in (most - Map.get(about, :defaults, 0))..most
             end),
             "#{where} names #{name}"
    end
  end
end
