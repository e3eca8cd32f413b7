defmodule Mote.Dashboard.Page do
  # The page, put together when this module is compiled: as one file of HTML with its style and its script inside, and as the
  # style and the script of a widget in Livebook. The two differ in how they ask for data.
  #
  # It loads nothing from anywhere, and the policy of the file lets it run nothing but these two, which it names by their hashes.
  @moduledoc false

  alias Mote.Dashboard.JSON

  @folder Path.join(__DIR__, "page")
  # In the order in which they stand in the page: each uses what is before it.
  @scripts ~w(basics.js now.js looks.js)
  for name <- ["page.html", "body.html", "page.css", "http.js", "kino.js" | @scripts],
      do: @external_resource(Path.join(@folder, name))

  read = fn name -> File.read!(Path.join(@folder, name)) end

  @style read.("page.css")
  @body read.("body.html")
  @script Enum.map_join(["http.js" | @scripts], read)
  @html for {name, text} <- [body: @body, style: @style, script: @script],
            reduce: read.("page.html"),
            do: (html -> String.replace(html, "{{#{name}}}", fn _ -> text end))

  @widget IO.iodata_to_binary([
            "export function init(ctx) {\n",
            ["ctx.importCSS(\"main.css\");\nctx.root.innerHTML = ", JSON.encode(@body), ";\n"],
            Enum.map(["kino.js" | @scripts], read),
            "}\n"
          ])

  @doc "The page."
  @spec html() :: String.t()
  def html, do: @html

  @doc "The style of the page."
  @spec style() :: String.t()
  def style, do: @style

  @doc "The module of JavaScript that is the page in Livebook."
  @spec widget() :: String.t()
  def widget, do: @widget

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
