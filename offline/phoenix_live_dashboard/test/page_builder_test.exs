defmodule Phoenix.LiveDashboard.PageBuilderTest do
  use ExUnit.Case, async: true
  import Phoenix.LiveViewTest

  defmodule Page do
    use Phoenix.LiveDashboard.PageBuilder

    @impl true
    def menu_link(_session, _capabilities), do: {:ok, "Page"}

    @impl true
    def render(assigns) do
      ~H"""
      <p :if={@shown} class="a" title={@title} hidden={false}><%= @title %></p>
      <i :for={{n, text} <- [{1, "x"}, {2, "y"}]} :if={n > 1}><%= text %></i>
      <.row><:col><.card title="T" inner_title="I"><b><%= @title %></b></.card></:col><:col>2</:col></.row>
      <.live_table id="t" dom_id="t" page={@page} title="Rows" rows_name="rows" default_sort_by={:n} row_fetcher={&rows(@rows, &1, &2)} row_attrs={&attributes/1}>
        <:col field={:name} header="Name" sortable={:asc} />
        <:col :let={row} field={:n} sortable={:desc}>(<%= row.n %>)</:col>
      </.live_table>
      """
    end

    defp rows(rows, %{sort_by: by, sort_dir: direction}, node) when node == node(),
      do: {Enum.sort_by(rows, & &1[by], direction), length(rows)}

    defp attributes(row), do: [{"phx-click", "go"}, {"phx-value-n", row.n}]
  end

  defp html(assigns) do
    page = %Phoenix.LiveDashboard.PageBuilder{node: node()}

    assigns =
      Map.merge(
        %{shown: true, title: "<&\"'", page: page, rows: [%{name: "a", n: 1}, %{name: "b", n: 2}]},
        assigns
      )

    rendered_to_string(Page.render(assigns))
  end

  test "text and attributes are escaped" do
    assert html(%{}) =~ ~s(<p class="a" title="&lt;&amp;&quot;&#39;">&lt;&amp;&quot;&#39;</p>)
  end

  test "conditions and repetitions" do
    refute html(%{shown: false}) =~ "<p class"
    html = html(%{})
    assert html =~ "<i>y</i>"
    refute html =~ "<i>x</i>"
  end

  test "components with slots inside each other" do
    assert html(%{}) =~
             ~r{<div class="row"><div class="col">\s*<h5>T</h5>.*<b>&lt;.*</b>.*</div><div class="col">2</div></div>}s
  end

  test "a table of what a function finds, sorted" do
    [_, table] = String.split(html(%{}), "Showing 2 rows")
    assert table =~ "<th>Name</th><th>n</th>"
    assert table =~ ~r{<tr phx-click="go" phx-value-n="2">\s*<td>b</td><td>\(2\)</td>\s*</tr>.*<td>a</td>}s
  end

  test "what is not closed is refused" do
    assert_raise RuntimeError, ~r{</b> ends <p>}, fn ->
      Phoenix.Component.Template.compile("<p></b>", "here")
    end

    assert_raise RuntimeError, ~r{<p> has no end}, fn -> Phoenix.Component.Template.compile("<p>", "here") end
  end
end
