defmodule Mote.Dashboard.Page do
  # The page: one file of HTML with its style and its script inside, put together when this module is compiled.
  #
  # It loads nothing from anywhere, and its policy lets it run nothing but these two, which it names by their hashes.
  @moduledoc false

  @folder Path.join(__DIR__, "page")
  # In the order in which they stand in the page: each uses what is before it.
  @scripts ~w(basics.js now.js looks.js)
  for name <- ["page.html", "page.css" | @scripts], do: @external_resource(Path.join(@folder, name))

  @style File.read!(Path.join(@folder, "page.css"))
  @script Enum.map_join(@scripts, &File.read!(Path.join(@folder, &1)))
  @html @folder
        |> Path.join("page.html")
        |> File.read!()
        |> String.replace("{{style}}", fn _ -> @style end)
        |> String.replace("{{script}}", fn _ -> @script end)

  @doc "The page."
  @spec html() :: String.t()
  def html, do: @html

  @doc "Headers of the page."
  @spec headers() :: [{String.t(), iodata}]
  def headers do
    [
      {"content-type", "text/html; charset=utf-8"},
      {"x-frame-options", "DENY"},
      {"content-security-policy",
       [
         "default-src 'none'; connect-src 'self'; img-src data:; style-src #{hash(@style)}; script-src #{hash(@script)}; " <>
           "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
       ]}
    ]
  end

  defp hash(text), do: "'sha256-#{Base.encode64(:crypto.hash(:sha256, text))}'"
end
